import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { repositoryPackage } from "./packed.ts";
import { runtimePackage } from "./runtimes.ts";

/** A TypeScript that users may have. */
export interface TypeScript {
  readonly version: string;
  readonly program: string;
}

/** From the oldest that is promised to the newest; those of `tests/runtimes` where they are installed, in CI all. */
export function typescripts(): TypeScript[] {
  const folders = [runtimePackage("typescript-5.4"), repositoryPackage("typescript"), runtimePackage("typescript-6"), runtimePackage("typescript-7")];
  const there = folders.filter((folder) => process.env["CI"] || existsSync(folder));
  return there.map((folder) => ({
    version: JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version,
    program: join(folder, "bin/tsc"),
  }));
}

/** Compiles one file as part of the package in `folder`, with everything that `import`s bring; gives the complaints. */
export async function typeCheck(
  { program, version }: TypeScript,
  folder: string,
  source: string,
  options: { module: string; moduleResolution: string; skipLibCheck: boolean; types?: string[] },
): Promise<string> {
  // A folder of its own for each: they run at the same time.
  const project = join(folder, `${version} ${options.moduleResolution}`);
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "consumer.ts"), source);
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  const compilerOptions = { ...STRICT, types: [], ...options };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
  const { stdout } = await promisify(execFile)(process.execPath, [program, "-p", project]).catch((error) => error);
  return stdout;
}

const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  esModuleInterop: true,
  target: "es2022",
  lib: ["es2022"],
};
