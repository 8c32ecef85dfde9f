import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** A JavaScript runtime that the suite runs on. */
export interface Runtime {
  /** Its name in tables: `Node 22`, `Bun`, `Deno`. */
  readonly name: string;
  readonly kind: "node" | "bun" | "deno";
  readonly program: string;
  /** The version it says itself, `22.23.5` for example. */
  readonly version: string;
  /** Arguments that run a file, TypeScript or JavaScript, with every permission. */
  run(file: string, args?: readonly string[]): string[];
}

const FOLDER = fileURLToPath(new URL("../runtimes/", import.meta.url));

// Where npm puts the programs; the second place is for installations without scripts.
const PROGRAMS: Record<string, readonly string[]> = {
  "Node 22": ["node-22/bin/node"],
  "Node 24": ["node-24/bin/node"],
  "Node 26": ["node-26/bin/node"],
  Bun: ["bun/bin/bun.exe", "@oven/bun-linux-x64/bin/bun"],
  Deno: ["deno/deno", "@deno/linux-x64-glibc/deno"],
};

/** Installs what `tests/runtimes/package-lock.json` lists, unless it is there. */
export function installRuntimes(): void {
  if (missing().length === 0) return;
  execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: FOLDER, stdio: ["ignore", "ignore", "inherit"] });
  if (missing().length > 0) throw new Error(`npm installed no program for ${missing().join(", ")}`);
}

/** The Node of this process, if it is one, and the runtimes that are installed in `tests/runtimes`. In CI none may be missing. */
export function runtimes(): Runtime[] {
  if (process.env["CI"] && missing().length > 0) throw new Error(`Not installed: ${missing().join(", ")}; run npm run matrix once`);
  const others = Object.keys(PROGRAMS).filter((name) => programOf(name) !== undefined);
  const isNode = process.versions["bun"] === undefined && process.versions["deno"] === undefined;
  const own = isNode ? [node(`Node ${process.versions.node.split(".")[0]}`, process.execPath)] : [];
  return [...own, ...others.filter((name) => name !== own[0]?.name).map((name) => runtime(name, String(programOf(name))))];
}

/** The folder of a package that only some runtimes load, better-sqlite3 13 for one. */
export function runtimePackage(name: string): string {
  return `${FOLDER}node_modules/${name}`;
}

function runtime(name: string, program: string): Runtime {
  if (name === "Bun") return { name, kind: "bun", program, version: versionOf("bun"), run: (file, args = []) => ["run", file, ...args] };
  if (name === "Deno") {
    return { name, kind: "deno", program, version: versionOf("deno"), run: (file, args = []) => ["run", "-A", "--no-check", file, ...args] };
  }
  return node(name, program);
}

function node(name: string, program: string): Runtime {
  const version = program === process.execPath ? process.versions.node : versionOf(name.toLowerCase().replace(" ", "-"));
  const flags = Number(version.split(".")[0]) < 22 ? ["--import", import.meta.resolve("tsx")] : [];
  return { name, kind: "node", program, version, run: (file, args = []) => [...flags, file, ...args] };
}

function versionOf(packageName: string): string {
  return JSON.parse(readFileSync(`${runtimePackage(packageName)}/package.json`, "utf8")).version;
}

function programOf(name: string): string | undefined {
  return PROGRAMS[name]?.map((path) => `${FOLDER}node_modules/${path}`).find((path) => existsSync(path));
}

function missing(): string[] {
  return Object.keys(PROGRAMS).filter((name) => programOf(name) === undefined);
}
