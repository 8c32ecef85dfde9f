// What `npm run mutations` breaks can be broken that way: the text is there, and what comes of it is SQL that runs. Else a test
// would fail for another reason than the one that the mutation is about.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import postgres from "postgres";
import ts from "typescript";
import { createQueue } from "../mod.ts";
import { openSqlite } from "../src/sqlite.ts";
import type { Query } from "../src/query.ts";
import { verdictOf } from "./mutations/catcher.ts";
import { type Copy, makeCopy } from "./mutations/copy.ts";
import { chaos, type Mutation, suite } from "./mutations/mutation.ts";
import { postgresMutations } from "./mutations/postgres.ts";
import { sqliteMutations } from "./mutations/sqlite.ts";
import { createDatabase } from "./support/postgres_server.ts";

const URL_GIVEN = process.env["DATABASE_URL"];

describe("mutations", () => {
  let copy: Copy;
  let unbroken: Map<string, Query>;
  let imports = 0;
  before(async () => {
    copy = makeCopy(fileURLToPath(new URL("../", import.meta.url)));
    unbroken = await queries();
  });

  async function queries(): Promise<Map<string, Query>> {
    const module = await import(`${pathToFileURL(join(copy.folder, "src/sql.gen.ts"))}?${++imports}`) as Record<string, unknown>;
    return new Map(Object.entries(module).filter((entry): entry is [string, Query] => Array.isArray((entry[1] as Partial<Query>).postgres)));
  }

  // What a mutation makes of the product, which is whole again after that.
  async function broken({ dialect, edits, ...mutation }: Mutation): Promise<string[]> {
    copy.apply({ dialect, edits, ...mutation });
    try {
      for (const { file } of edits.filter((edit) => edit.file.endsWith(".ts"))) {
        const { diagnostics } = ts.transpileModule(readFileSync(join(copy.folder, file), "utf8"), { reportDiagnostics: true });
        assert.deepEqual(diagnostics?.map(({ messageText }) => messageText), [], `${mutation.name}: ${file}`);
      }
      const now = await queries();
      return [...now].flatMap(([name, query]) => query[dialect].filter(({ text }, place) => text !== unbroken.get(name)?.[dialect][place]?.text)).map(({ text }) => text);
    } finally {
      copy.restore();
    }
  }

  test("no two have one name", () => {
    const names = [...postgresMutations, ...sqliteMutations].map(({ dialect, name }) => `${dialect}: ${name}`);
    assert.deepEqual(names.filter((name, place) => names.indexOf(name) !== place), []);
  });

  test("sqlite: each finds what it changes, and its statements compile", async () => {
    const db = await openSqlite(":memory:");
    await createQueue(db).migrate();
    for (const mutation of sqliteMutations) {
      for (const text of await broken(mutation)) assert.doesNotThrow(() => db.prepare(text), mutation.name);
    }
    db.close();
  });

  describe("postgres", { skip: URL_GIVEN === undefined && "no Postgres" }, () => {
    let database: Awaited<ReturnType<typeof createDatabase>>;
    let sql: postgres.Sql;
    before(async () => {
      database = await createDatabase(URL_GIVEN!);
      sql = postgres(database.url, { max: 1, onnotice: () => {} });
      await createQueue(sql).migrate();
    });
    after(async () => {
      await sql.end();
      await database.drop();
    });

    test("each finds what it changes, and its statements compile", async () => {
      for (const mutation of postgresMutations) {
        for (const text of await broken(mutation)) {
          const plain = text.replaceAll('"@schema"', "public").replaceAll('"@schema-literal"', "public");
          await assert.doesNotReject(async () => await sql.unsafe(`prepare mutant as ${plain}`), mutation.name);
          await sql.unsafe("deallocate mutant");
        }
      }
    });
  });

  describe("a verdict", () => {
    const test1 = { code: 1, output: "    not ok 3 - it holds\n      ---\n      code: 'ERR_ASSERTION'\n      ...\nnot ok 1 - suite\n# pass 4\n" };
    const one = chaos("SQLite", 500, ["tokens"], "SIGKILL");
    const wrong = "✓ x\n✗ fencing tokens rise with every lease and every lease taken or handed back, by one each (3 looked at)\n    a token of 9\n";

    test("names the test that failed, or the promise that was broken and how", () => {
      assert.deepEqual(verdictOf(suite("x"), test1), { held: 4, broken: "not ok 3 - it holds" });
      assert.match(verdictOf(one, { code: 1, output: wrong }).broken!, /^fencing tokens rise.*: a token of 9$/);
      assert.deepEqual(verdictOf(one, { code: 0, output: "✓ x\n" }), { held: 1, broken: undefined });
    });

    test("is none when something else went wrong", () => {
      const others: [Parameters<typeof verdictOf>[0], Parameters<typeof verdictOf>[1]][] = [
        [suite("x"), { code: 1, output: "not ok 1 - /a/b.test.ts\n" }],
        [suite("x"), { code: 1, output: test1.output.replace("ERR_ASSERTION", "42601") }],
        [suite("x"), { code: 1, output: "" }],
        [one, { code: 1, output: "== SQLite: Error: Nothing happened for 180 s" }],
        [one, { code: 1, output: wrong.replace("fencing tokens rise", "NOT DONE:") }],
        [chaos("SQLite", 500, ["lost"], "SIGKILL"), { code: 1, output: wrong }],
      ];
      for (const [catcher, result] of others) assert.throws(() => verdictOf(catcher, result), /for another reason/);
    });
  });
});
