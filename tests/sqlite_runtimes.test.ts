// openSqlite() as programs have it, on every runtime that is installed.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { openSqlite } from "../src/sqlite.ts";
import { type Runtime, runtimes } from "./support/runtimes.ts";
import { linesOf, start } from "./support/sqlite_runtimes.ts";
import { temporaryFolder } from "./support/temp.ts";
import { test as it } from "./support/testing.ts";

const PROCESSES = 8;
const ROUNDS = 10;

describe("openSqlite()", () => {
  for (const runtime of runtimes()) {
    it(`takes the SQLite of ${runtime.name}`, { timeout: 60_000 }, async () => {
      const file = join(temporaryFolder("sqlite-choice"), "a.db");
      const [choice] = await linesOf(runtime, "./sqlite_choice.ts", [file]);
      const expected = runtime.kind === "bun" ? "bun:sqlite" : runtime.name === "Node 20" ? "better-sqlite3" : "node:sqlite";
      assert.deepEqual(choice, { loaded: expected, settings: ["wal", 2, 1, 5000], version: choice.version });
      assert.match(choice.version, /^3\.\d+\.\d+$/);
    });
  }
});

const deno = runtimes().find(({ kind }) => kind === "deno");

describe("openSqlite() on Deno", { skip: deno === undefined && "Deno is not installed" }, () => {
  it("needs the permission to read and write files, and more for what the documentation says", { timeout: 60_000 }, async () => {
    const flags = ["--no-prompt", "--allow-read", "--allow-write", "--no-check"];
    const limited: Runtime = { ...deno as Runtime, run: (file, args = []) => ["run", ...flags, file, ...args] };
    const file = join(temporaryFolder("sqlite-limited"), "a.db");
    const [outcome] = await linesOf(limited, "./sqlite_limited.ts", [file]);
    const tooMany = { thrown: { name: "SQLiteError", code: "SQLITE_ERROR", errno: 1, message: "too many attached databases - max 0" } };
    const cannotOpen = { thrown: { name: "SQLiteError", code: "SQLITE_CANTOPEN", errno: 14, message: `unable to open database file: ${file}` } };
    assert.deepEqual(outcome, { missing: cannotOpen, existing: "done", readonly: "done", vacuum: tooMany, attach: tooMany });
  });
});

describe("a file that does not exist yet", () => {
  const all = runtimes();
  for (const [name, runtimes] of [...all.map((each) => [each.name, [each]] as const), ["all runtimes", all] as const]) {
    it(`is opened by ${PROCESSES} processes of ${name} at once`, { timeout: 180_000 }, async () => {
      await race(Array.from({ length: PROCESSES }, (_, index) => runtimes[index % runtimes.length] as Runtime));
    });
  }
});

async function race(runtimes: Runtime[]): Promise<void> {
  const folder = temporaryFolder("sqlite-race");
  const openers = runtimes.map((runtime) => start(runtime, "./sqlite_opener.ts", [folder, String(ROUNDS)]));
  const pids = openers.map(({ pid }) => pid).sort((a, b) => a - b);
  for (let round = 0; round < ROUNDS; round++) {
    for (const event of await Promise.all(openers.map((opener) => opener.next()))) assert.deepEqual(event, { type: "ready" });
    writeFileSync(join(folder, `go-${round}`), "");
    for (const event of await Promise.all(openers.map((opener) => opener.next()))) assert.deepEqual(event, { type: "done", mode: "wal" });
    const db = await openSqlite(join(folder, `${round}.db`));
    assert.deepEqual(db.query("select pid from t order by pid").values().flat(), pids);
    db.close();
  }
}
