import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import type { Database } from "../../src/sqlite.ts";

/** What the shim refuses, and bun:sqlite does not. */
export function testRefusals(open: () => Promise<Database>): void {
  let db: Database;
  beforeEach(async () => void (db = await open()));
  afterEach(() => db.close());
  const get = (sql: string, ...params: any[]) => db.query(sql).get(...params);

  it("tells which value is wrong, and why", () => {
    assert.throws(() => get("select :d", { d: new Date() }), { name: "TypeError", message: /type Date to ":d"/ });
    assert.throws(() => get("select ?", 2n ** 63n), { name: "RangeError", message: /64 bits/ });
    assert.throws(() => get("select ?", -(2n ** 63n) - 1n), { name: "RangeError", message: /64 bits/ });
    assert.throws(() => get("select :a", { b: 1 }), { name: "RangeError", message: /":a"/ });
    assert.throws(() => get("select ?", { a: 1 }), { name: "RangeError", message: /"\?1"/ });
    assert.throws(() => get("select ?"), { name: "RangeError", message: /expected 1 values, received 0/ });
  });

  it("refuses a text without a statement", () => {
    for (const sql of ["", ";", " -- no\n", "/* no", "\0"]) {
      for (const call of [() => db.prepare(sql), () => db.query(sql), () => db.run(sql)]) {
        assert.throws(call, { name: "RangeError", message: /no statement/ });
      }
    }
  });

  it("refuses a transaction over a promise, after rolling back", () => {
    db.run("create table t (v)");
    const add = (v: number) => db.query("insert into t values (?)").run(v);
    assert.throws(
      db.transaction(async () => {
        add(1);
      }),
      TypeError,
    );
    db.transaction(() => {
      assert.throws(db.transaction(() => Promise.resolve(add(2))), TypeError);
      add(3);
    })();
    assert.equal(db.inTransaction, false);
    assert.deepEqual(db.query("select v from t").values(), [[3]]);
  });
}
