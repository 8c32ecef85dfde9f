/**
 * Writes `src/sql.gen.ts` from `sql/`; with `--check`, only says whether it is up to date.
 *
 * @module
 */

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { readTexts } from "./sql_files.ts";
import { generateModule } from "./sql_module.ts";

const MODULE = "src/sql.gen.ts";
const COMMAND = "node --import tsx scripts/generate.ts";

/**
 * Writes or checks the module of the repository at `root`.
 *
 * @throws {Error} If a file of `sql/` breaks a rule, or the module to check is out of date.
 */
export function generate(root: URL, options: { check: boolean }): void {
  const path = new URL(MODULE, root);
  const text = generateModule(readTexts(root));
  if (!options.check) {
    writeFileSync(path, text);
  } else if (text !== readIfThere(path)) {
    throw new Error(`${MODULE} is out of date, run: ${COMMAND}`);
  }
}

function readIfThere(path: URL): string | undefined {
  try {
    return readFileSync(path, "utf8").replaceAll("\r\n", "\n");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function main(args: readonly string[]): void {
  const unknown = args.find((arg) => arg !== "--check");
  if (unknown !== undefined) throw new Error(`Unknown argument "${unknown}", use: ${COMMAND} [--check]`);
  generate(new URL("../", import.meta.url), { check: args.includes("--check") });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
