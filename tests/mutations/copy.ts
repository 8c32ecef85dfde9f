import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { generate } from "../../scripts/generate.ts";
import { temporaryFolder } from "../support/temp.ts";
import type { Edit, Mutation } from "./mutation.ts";

const PARTS = ["sql", "src", "tests", "scripts", "examples", "mod.ts", "package.json", "tsconfig.json"];
const TEST_TIMEOUT_MS = 60_000;

/** A copy of the repository that can be broken and mended again. */
export interface Copy {
  readonly folder: string;
  /** Breaks it, and generates the module of the broken SQL. */
  apply(mutation: Mutation): void;
  /** As it was. */
  restore(): void;
}

export function makeCopy(root: string): Copy {
  const folder = temporaryFolder("mutations");
  for (const part of PARTS) cpSync(join(root, part), join(folder, part), { recursive: true, filter: (path) => !path.endsWith("node_modules") });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  limitTests(join(folder, "tests/support/testing.ts"));
  const originals = new Map<string, string>();

  function change(dialect: Mutation["dialect"], { file, from, to }: Edit): void {
    const path = join(folder, file.includes("/") ? file : `sql/${dialect}/queries/${file}.sql`);
    const text = readFileSync(path, "utf8");
    if (!originals.has(path)) originals.set(path, text);
    const pattern = typeof from === "string" ? from : new RegExp(from.source, "g");
    const changed = text.replaceAll(pattern, () => to);
    if (changed === text) throw new Error(`The mutation of ${path} finds nothing to change: ${from}`);
    writeFileSync(path, changed);
  }

  const regenerate = () => generate(pathToFileURL(`${folder}/`), { check: false });
  return {
    folder,
    apply({ dialect, edits }) {
      edits.forEach((edit) => change(dialect, edit));
      regenerate();
    },
    restore() {
      originals.forEach((text, path) => writeFileSync(path, text));
      originals.clear();
      regenerate();
    },
  };
}

// A test that waits for ever would be ended with its whole file, and nobody would say which one it was.
function limitTests(path: string): void {
  const text = readFileSync(path, "utf8");
  const limited = text.replace("testOfNode(name, options,", `testOfNode(name, { timeout: ${TEST_TIMEOUT_MS}, ...options },`);
  if (limited === text) throw new Error(`${path} does not say where a test gets its options`);
  writeFileSync(path, limited);
}
