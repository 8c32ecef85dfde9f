import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createDatabase } from "./support/postgres_server.ts";
import { spawnWorker } from "./support/processes.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
// Inside the tree, so that the examples find the drivers.
const folder = mkdtempSync(join(root, "tests/.examples-"));
after(() => rmSync(folder, { recursive: true, force: true }));

describe("documentation", () => {
  for (const { name, code } of examples()) {
    it(`runs ${name}`, { skip: needsPostgres(code) && !process.env.DATABASE_URL ? "no DATABASE_URL" : false }, async () => {
      const path = join(folder, `${name.replaceAll(/\W/g, "_")}.ts`);
      writeFileSync(path, runnable(code));
      const worker = spawnWorker(path, [], needsPostgres(code) ? { DATABASE_URL: await databaseUrl() } : {});
      const { code: status } = await worker.exited;
      assert.equal(status, 0, worker.stderr);
    });
  }
});

function examples(): { name: string; code: string }[] {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".gen.ts"))
    .map((file) => join("src", file));
  const found = ["README.md", "mod.ts", ...sources].flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((match, place) => ({
      name: `${file} ${place + 1}`,
      code: String(match[1]).replaceAll(/^ *\* ?/gm, file.endsWith(".md") ? "$&" : ""),
    }));
  });
  assert.ok(found.length >= 8, "the examples were not found");
  return found;
}

// From the source and not from the build; a pool that is left open would keep the process alive.
function runnable(code: string): string {
  const moved = code.replaceAll('"skiplocked/sqlite"', '"../../src/sqlite.ts"').replaceAll('"skiplocked"', '"../../mod.ts"');
  return `process.chdir(${JSON.stringify(folder)});\n${moved}\nprocess.exit(0);\n`;
}

// A database of its own: the example uses the default schema.
async function databaseUrl(): Promise<string> {
  const database = await createDatabase(String(process.env.DATABASE_URL));
  after(database.drop);
  return database.url;
}

function needsPostgres(code: string): boolean {
  return code.includes("DATABASE_URL");
}
