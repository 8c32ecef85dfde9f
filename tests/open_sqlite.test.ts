// Of every driver that this runtime loads. What every runtime has in common is in sqlite_runtimes.test.ts.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { type Database, openSqlite, type OpenSqliteOptions } from "../src/sqlite.ts";
import { loadBetterSqlite3 } from "../src/sqlite/better_sqlite3.ts";
import { drivers } from "./support/sqlite_drivers.ts";
import { testRefusals } from "./support/sqlite_refusals.ts";
import { testStatements } from "./support/sqlite_statements.ts";
import { testTransactions } from "./support/sqlite_transactions.ts";
import { temporaryFolder } from "./support/temp.ts";

const folder = temporaryFolder("sqlite");
let files = 0;
const newFile = () => join(folder, `${files++}.db`);
const pragma = (db: Database, name: string) => db.query(`pragma ${name}`).values()[0]?.[0];

for (const driver of drivers()) {
  const opened: Database[] = [];
  const open = async (path: string, options?: OpenSqliteOptions) => {
    const db = await driver.open(path, options);
    opened.push(db);
    return db;
  };

  describe(`openSqlite() with ${driver.name}`, () => {
    afterEach(() => opened.splice(0).forEach((db) => db.close()));

    describe("statements", () => testStatements((options) => driver.open(":memory:", options)));
    describe("transaction()", () => testTransactions(() => driver.open(newFile())));
    if (driver.name !== "bun:sqlite") {
      describe("the shim", () => testRefusals(() => driver.open(":memory:")));
    }

    it("sets the connection up", async () => {
      const file = newFile();
      const db = await open(file);
      assert.equal(db.filename, file);
      assert.equal(pragma(db, "journal_mode"), "wal");
      assert.equal(pragma(db, "synchronous"), 2);
      assert.equal(pragma(db, "foreign_keys"), 1);
      assert.equal(pragma(db, "busy_timeout"), 5000);
      const other = await open(file, { synchronous: "NORMAL", busyTimeoutMs: 7 });
      assert.equal(pragma(other, "synchronous"), 1);
      assert.equal(pragma(other, "busy_timeout"), 7);
      const memory = await open(":memory:");
      assert.equal(memory.filename, ":memory:");
      assert.equal(pragma(memory, "journal_mode"), "memory");
      assert.equal(pragma(memory, "foreign_keys"), 1);
    });

    it("obeys readonly and create", async () => {
      const file = newFile();
      const cannotOpen = { name: "SQLiteError", code: "SQLITE_CANTOPEN", errno: 14 };
      for (const options of [{ create: false }, { readonly: true }, { readonly: true, create: false }]) {
        await assert.rejects(open(file, options), cannotOpen);
      }
      assert.equal(existsSync(file), false);
      await assert.rejects(open(join(folder, "none", "a.db")), cannotOpen);
      await assert.rejects(open(folder), cannotOpen);
      const db = await open(file);
      db.run("create table t (v)");
      const reader = await open(file, { readonly: true });
      assert.deepEqual(reader.query("select * from t").all(), []);
      assert.throws(() => reader.run("insert into t values (1)"), { code: "SQLITE_READONLY" });
      const again = await open(file, { create: false });
      again.run("insert into t values (1)");
      assert.deepEqual(reader.query("select * from t").all(), [{ v: 1 }]);
    });

    it("takes a path as it is written", async () => {
      const folder = temporaryFolder("sqlite-paths");
      for (const name of ["a b.db", "100%25.db", "q?mode=ro.db", "h#ash.db", "ünï.db"]) {
        (await open(join(folder, name))).run("create table t (v)");
        assert.deepEqual((await open(join(folder, name), { create: false })).query("select * from t").all(), []);
        assert.ok(existsSync(join(folder, name)), name);
      }
    });

    it("passes on that a file is no database", async () => {
      const file = newFile();
      writeFileSync(file, "not a database, but long enough to have what would be a header ".repeat(20));
      await assert.rejects(open(file), { name: "SQLiteError", code: "SQLITE_NOTADB", errno: 26 });
    });

    it("is closed silently, also the second time", async () => {
      const db = await open(":memory:");
      const statement = db.query("select 1");
      db.close();
      db.close(true);
      assert.throws(() => db.inTransaction);
      assert.throws(() => statement.all());
      assert.throws(() => db.run("select 1"));
    });

    it("lets go of the file when it is closed", async () => {
      const file = newFile();
      const db = await open(file);
      db.run("create table t (v)");
      db.query("insert into t values (1)").run();
      const kept = db.prepare("select v from t");
      kept.all();
      assert.ok(existsSync(`${file}-wal`));
      db.close();
      // The last connection to a file removes its log.
      assert.equal(existsSync(`${file}-wal`), driver.name === "bun:sqlite");
      if (driver.name === "bun:sqlite") kept.finalize();
      assert.equal(existsSync(`${file}-wal`), false);
    });

    it("can be closed by `using`", async () => {
      const db = await open(":memory:");
      db[Symbol.dispose]();
      assert.throws(() => db.run("select 1"));
    });
  });

  describe(`a locked file with ${driver.name}`, () => {
    async function lockedFile() {
      const file = newFile();
      const holder = await driver.open(file);
      holder.run("pragma journal_mode = delete; begin exclusive");
      return { file, holder };
    }

    it("is waited for without blocking the event loop", async () => {
      const { file, holder } = await lockedFile();
      setTimeout(() => holder.close(), 300);
      const db = await open(file);
      assert.equal(db.run("create table t (v)").changes, 0);
      db.close();
    });

    it("is given up after 5 seconds", { timeout: 30_000 }, async () => {
      const { file, holder } = await lockedFile();
      let longestPause = 0;
      let last = performance.now();
      const clock = setInterval(() => {
        longestPause = Math.max(longestPause, performance.now() - last);
        last = performance.now();
      }, 10);
      const start = last;
      await assert.rejects(open(file), (error: any) => error.code === "busy" && error.cause.code === "SQLITE_BUSY");
      clearInterval(clock);
      holder.close();
      const waited = performance.now() - start;
      assert.ok(waited > 4900 && waited < 7000, `waited ${waited} ms`);
      assert.ok(longestPause < 1000, `the event loop stood still for ${longestPause} ms`);
    });
  });
}

describe("arguments of openSqlite()", () => {
  it("are refused when they are wrong", async () => {
    const wrong: [path: unknown, options?: object][] = [
      [""],
      [" "],
      [undefined],
      [7],
      ["a\0b"],
      ["file:a.db"],
      [":memory:", { readonly: true }],
      [":memory:", { readOnly: true }],
      [":memory:", { create: 1 }],
      [":memory:", { synchronous: "OFF" }],
      ...[-1, 1.5, NaN, 2 ** 31, "5"].map((busyTimeoutMs): [string, object] => [":memory:", { busyTimeoutMs }]),
    ];
    for (const [path, options] of wrong) {
      await assert.rejects(openSqlite(path as string, options), { code: "invalid_argument" });
    }
  });

  it("may be undefined, as if left out", async () => {
    const db = await openSqlite(":memory:", { busyTimeoutMs: undefined } as object);
    assert.equal(pragma(db, "busy_timeout"), 5000);
    db.close();
  });
});

describe("loadBetterSqlite3()", () => {
  it("says that better-sqlite3 is missing or does not load", async () => {
    const broken = "data:text/javascript,export default class { constructor() { throw new Error('dlopen') } }";
    for (const specifier of ["a-package-that-is-not-installed", broken]) {
      await assert.rejects(loadBetterSqlite3(specifier), (error: any) => {
        assert.equal(error.code, "driver_missing");
        assert.match(error.message, /npm install better-sqlite3/);
        return error.cause instanceof Error;
      });
    }
  });
});
