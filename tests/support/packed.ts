// What npm would publish, in folders of its users.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Runtime, runtimePackage } from "./runtimes.ts";
import { temporaryFolder } from "./temp.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const NOT_PACKED = [".git", "dist", "node_modules", "tests"];
// With the first variable node:test in a child would speak the runner's binary protocol.
const ENVIRONMENT = { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: "", npm_config_offline: "true", npm_config_update_notifier: "false" };

/** Packs this tree, from a copy: the build must not disturb what others do with it. */
export function packTarball(): string {
  const source = join(temporaryFolder("source"), "skiplocked");
  const isWanted = (path: string) => !NOT_PACKED.includes(relative(ROOT, path));
  cpSync(ROOT, source, { recursive: true, filter: isWanted });
  symlinkSync(join(ROOT, "node_modules"), join(source, "node_modules"));
  execFileSync("npm", ["pack", "--pack-destination", dirname(source)], { cwd: source, stdio: "pipe", env: ENVIRONMENT });
  const tarball = readdirSync(dirname(source)).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error(`npm packed nothing into ${dirname(source)}`);
  return join(dirname(source), tarball);
}

/** Installs the tarball by npm, without a network, in a new folder with a space and a letter that is not ASCII. */
export function installTarball(tarball: string): string {
  const folder = join(temporaryFolder("pack age"), "für uns");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  execFileSync("npm", ["install", "--no-audit", "--no-fund", tarball], { cwd: folder, stdio: "pipe", env: ENVIRONMENT });
  return folder;
}

/** A folder beside `installed` with the same package, and links to those others that it needs: a driver, or nothing. */
export function folderWith(installed: string, name: string, packages: Record<string, string> = {}): string {
  const folder = `${installed} ${name}`;
  if (!existsSync(folder)) cpSync(installed, folder, { recursive: true });
  for (const [each, target] of Object.entries(packages)) link(target, join(folder, "node_modules", each));
  return folder;
}

/** A package of this repository's own. */
export function repositoryPackage(name: string): string {
  return join(ROOT, "node_modules", name);
}

/** The better-sqlite3 that a runtime can load: ours is compiled for the Node that runs the tests, the newer one crashes on Node 20. */
export function betterSqlite3For(runtime: Runtime): string {
  return runtime.program === process.execPath ? repositoryPackage("better-sqlite3") : runtimePackage("better-sqlite3");
}

/** Links are followed before a package looks for its own, so that the folder sees one package more and no other. */
function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) symlinkSync(target, path);
}

/** The environment for a program that a test runs. */
export function childEnvironment(env: Record<string, string> = {}): NodeJS.ProcessEnv {
  return { ...ENVIRONMENT, ...env };
}
