import assert from "node:assert/strict";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import fc from "fast-check";
import type { Database, OpenSqliteOptions, SQLiteValue } from "../../src/sqlite.ts";

// Whose node:sqlite reads text up to its first NUL.
const CUTS_AT_NUL = process.versions["deno"] !== undefined || /^v(22|24\.0)\./.test(process.version);

/** What statements do, whatever the driver. */
export function testStatements(open: (options?: OpenSqliteOptions) => Promise<Database>): void {
  let db: Database;
  beforeEach(async () => {
    db = await open();
    db.run("create table t (id integer primary key, v)");
  });
  afterEach(() => db.close());

  const echo = (value: unknown) => db.query("select ? as v, typeof(?1) as type").get(value as SQLiteValue);

  describe("values", () => {
    it("come back as they were bound", () => {
      const value = fc.oneof(
        fc.string({ unit: "binary" }).filter((text) => !text.includes("\0")),
        fc.maxSafeInteger(),
        fc.double({ noNaN: true }),
        fc.uint8Array({ maxLength: 50 }),
        fc.constant(null),
      );
      fc.assert(fc.property(value, (v) => {
        db.run("delete from t");
        db.query("insert into t (v) values (:v)").run({ v });
        assert.deepEqual(db.query("select v from t").get(), { v });
      }));
    });

    it("of text with a NUL are stored whole, and read whole, or up to it where the documentation says so", () => {
      for (const text of ["\0", "a\0", "\0b", "a\0b"]) {
        const { v, hex } = db.query("select ?1 as v, hex(?1) as hex").get(text) as { v: string; hex: string };
        assert.equal(hex, Buffer.from(text).toString("hex").toUpperCase());
        assert.ok(v === text || CUTS_AT_NUL && v === text.slice(0, text.indexOf("\0")), JSON.stringify(v));
      }
    });

    it("of 64 bits come back with safeIntegers", () => {
      const statement = db.prepare("select ? as v").safeIntegers(true);
      fc.assert(fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), (v) => {
        assert.deepEqual(statement.get(v), { v });
      }));
    });

    it("have the storage class that bun:sqlite gives them", () => {
      assert.deepEqual(echo(5), { v: 5, type: "integer" });
      assert.deepEqual(echo(Number.MAX_SAFE_INTEGER), { v: Number.MAX_SAFE_INTEGER, type: "integer" });
      assert.deepEqual(echo(2 ** 53), { v: 2 ** 53, type: "real" });
      assert.deepEqual(echo(5.5), { v: 5.5, type: "real" });
      assert.deepEqual(echo(5n), { v: 5, type: "integer" });
      assert.deepEqual(echo(true), { v: 1, type: "integer" });
      assert.deepEqual(echo(false), { v: 0, type: "integer" });
      assert.deepEqual(echo(undefined), { v: null, type: "null" });
      assert.deepEqual(echo(NaN), { v: null, type: "null" });
      assert.deepEqual(echo(new Uint8Array(0)), { v: new Uint8Array(0), type: "blob" });
      assert.deepEqual(db.query("select json_object('n', :n) as v").get({ n: 5 }), { v: '{"n":5}' });
    });

    it("that cannot be stored are refused", () => {
      for (const value of [Symbol("s"), () => 1, [[1]]]) assert.throws(() => echo(value), TypeError);
      assert.throws(() => db.query("select :d").get({ d: new Date() as never }), TypeError);
    });

    it("are plain Uint8Arrays for blobs by every way of reading", () => {
      const statement = db.query("select x'00ff' as v");
      const v = new Uint8Array([0, 255]);
      assert.deepEqual(statement.get(), { v });
      assert.deepEqual(statement.all(), [{ v }]);
      assert.deepEqual(statement.values(), [[v]]);
      assert.deepEqual([...statement], [{ v }]);
    });
  });

  describe("parameters", () => {
    const get = (sql: string, ...params: any[]) => db.query(sql).values(...params)[0];

    it("are bound by position, spread or as one array", () => {
      assert.deepEqual(get("select ?, ?", 1, "a"), [1, "a"]);
      assert.deepEqual(get("select ?, ?", [1, "a"]), [1, "a"]);
      assert.deepEqual(get("select ?2, ?1, ?", 1, 2, 3), [2, 1, 3]);
      assert.deepEqual(get("select :a, $b, :a", 1, 2), [1, 2, 1]);
      assert.deepEqual(get("select ?3", 1, 2, 3), [3]);
    });

    it("are bound by name with or without the prefix", () => {
      assert.deepEqual(get("select :a, $b, @c", { a: 1, b: 2, c: 3 }), [1, 2, 3]);
      assert.deepEqual(get("select :a, $b, @c", { ":a": 1, $b: 2, "@c": 3 }), [1, 2, 3]);
      assert.deepEqual(get("select ?1", { "?1": "x" }), ["x"]);
      assert.deepEqual(get("select ?, :a", { 0: "x", a: "y" }), ["x", "y"]);
    });

    it("ignore further names and need their own", () => {
      assert.deepEqual(get("select :a", { a: 1, other: 2 }), [1]);
      assert.deepEqual(get("select :a", { a: undefined }), [null]);
      assert.throws(() => get("select :a", { b: 1 }), Error);
      assert.throws(() => get("select :constructor", {}), Error);
      assert.throws(() => get("select ?", { a: 1 }), Error);
    });

    it("must be as many as the values", () => {
      assert.throws(() => get("select ?, ?", 1), Error);
      assert.throws(() => get("select ?", 1, 2), Error);
    });

    it("are not seen in text, names and comments", () => {
      const sql = "select ':a''?' as \":b\", [v] as [:c], 1 as a$d /* :e ; */ from t where v = :f -- :g";
      assert.equal(db.prepare(sql).paramsCount, 1);
      assert.deepEqual(db.prepare(sql).columnNames, [":b", ":c", "a$d"]);
      assert.deepEqual(db.prepare(sql).all({ f: 1 }), []);
    });
  });

  describe("statements", () => {
    it("give rows, or none where there are none", () => {
      assert.equal(db.query("select 1 where false").get(), null);
      assert.deepEqual(db.query("insert into t (v) values (1), (2) returning id").all(), [{ id: 1 }, { id: 2 }]);
      assert.deepEqual(db.query("insert into t (v) values (3), (4) returning id").get(), { id: 3 });
      assert.equal(db.query("insert into t (v) values (5)").get(), null);
      assert.deepEqual(db.query("insert into t (v) values (6)").all(), []);
      assert.deepEqual(db.query("insert into t (v) values (7)").values(), []);
      assert.deepEqual([...db.query("insert into t (v) values (8)").iterate()], []);
      assert.deepEqual(db.query("select count(*) as n from t").get(), { n: 8 });
    });

    it("tell what they changed", () => {
      const insert = db.query("insert into t (v) values (?)");
      assert.deepEqual(insert.run("a"), { changes: 1, lastInsertRowid: 1 });
      const two = db.query("insert into t (v) values (1), (2) returning id");
      assert.deepEqual(two.run(), { changes: 2, lastInsertRowid: 3 });
      assert.deepEqual(db.run("update t set v = 0; delete from t where id = 1"), { changes: 4, lastInsertRowid: 3 });
      assert.deepEqual(db.query("select * from t").run(), { changes: 0, lastInsertRowid: 3 });
      assert.equal(insert.safeIntegers(true).run("b").lastInsertRowid, 4n);
      db.run("create trigger g after delete on t begin update t set v = 1; end");
      assert.equal(db.run("delete from t where id = 4").changes, 1);
    });

    it("stop where the first one ends", () => {
      assert.deepEqual(db.prepare("select 'a;b' as v; select 2; nonsense").all(), [{ v: "a;b" }]);
      assert.equal(db.prepare("select 1; select 2").toString(), "select 1;");
      const trigger = "create trigger g after insert on t begin delete from t where v = 'x'; end; select 1";
      db.prepare(trigger).run();
      db.run("insert into t (v) values ('x')");
      assert.equal(db.query("select 1 from t").get(), null);
    });

    it("all run in run() and exec(), the first with the bindings", () => {
      db.run("insert into t (v) values (?); insert into t (v) values (2)", 1);
      db.exec("insert into t (v) values (3); insert into t (v) values (4)");
      assert.deepEqual(db.query("select v from t order by v").values(), [[1], [2], [3], [4]]);
      assert.throws(() => db.prepare(""), Error);
    });

    it("are cached by query() and not by prepare()", () => {
      const first = db.query("select 1");
      assert.equal(db.query("select 1"), first);
      assert.notEqual(db.prepare("select 1"), db.prepare("select 1"));
      for (let i = 2; i < 40; i++) db.query(`select ${i}`);
      assert.notEqual(db.query("select 1"), first);
      assert.deepEqual(first.values(), [[1]]);
    });

    it("refuse to work once finalized", () => {
      const statement = db.query("select 1 as v");
      statement.finalize();
      statement.finalize();
      assert.throws(() => statement.all(), /finalized/);
      assert.deepEqual(db.query("select 1 as v").all(), [{ v: 1 }]);
    });

    it("read row by row, and can be left early", () => {
      const statement = db.prepare("select ? as v union all select 2");
      for (const row of statement.iterate(1)) {
        assert.deepEqual(row, { v: 1 });
        break;
      }
      assert.deepEqual([...statement.iterate(1)], [{ v: 1 }, { v: 2 }]);
    });

    it("switch safeIntegers for themselves or with the database", async () => {
      const statement = db.prepare("select 1 as v");
      assert.equal(statement.safeIntegers(), false);
      assert.deepEqual(statement.safeIntegers(true).values(), [[1n]]);
      assert.equal(statement.safeIntegers(), true);
      const safe = await open({ safeIntegers: true });
      assert.deepEqual(safe.query("select 1 as v").get(), { v: 1n });
      assert.equal(safe.run("create table t (v)").lastInsertRowid, 0n);
      safe.close();
    });

    it("fail with SQLite's code", () => {
      db.run("create unique index u on t (v); insert into t (v) values (1)");
      const unique = { name: "SQLiteError", code: "SQLITE_CONSTRAINT_UNIQUE", errno: 2067, message: "UNIQUE constraint failed: t.v" };
      assert.throws(() => db.run("insert into t (v) values (1)"), unique);
      assert.throws(() => db.query("insert into t (v) values (1)").all(), unique);
      assert.throws(() => [...db.query("insert into t (v) values (1)").iterate()], unique);
      assert.throws(() => db.query("select nothing"), { code: "SQLITE_ERROR" });
    });
  });
}
