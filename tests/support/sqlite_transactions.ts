import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import type { Database } from "../../src/sqlite.ts";

/** What `transaction` does, whatever the driver. */
export function testTransactions(open: () => Promise<Database>): void {
  let db: Database;
  beforeEach(async () => {
    db = await open();
    db.run("create table t (v)");
  });
  afterEach(() => db.close());

  const add = (v: number) => db.query("insert into t values (?)").run(v);
  const rows = () => db.query("select v from t order by v").values().flat();
  const fail = () => {
    throw new Error("no");
  };

  it("commits and passes arguments, this and the result on", () => {
    const run = db.transaction(function (this: unknown, a: number, b: number) {
      assert.equal(db.inTransaction, true);
      add(a);
      return [this, a + b];
    });
    assert.deepEqual(run.call("me", 1, 2), ["me", 3]);
    assert.equal(db.inTransaction, false);
    assert.deepEqual(rows(), [1]);
  });

  it("rolls back and passes the error on", () => {
    const run = db.transaction(() => {
      add(1);
      fail();
    });
    for (const variant of [run, run.deferred, run.immediate, run.exclusive]) {
      assert.throws(() => variant(), { message: "no" });
      assert.equal(db.inTransaction, false);
    }
    assert.deepEqual(rows(), []);
  });

  it("rolls an inner one back alone", () => {
    const inner = db.transaction((v: number, then: () => void) => {
      add(v);
      then();
    });
    db.transaction(() => {
      add(1);
      inner.immediate(2, () => {});
      assert.throws(() => inner(3, fail));
      assert.throws(() => inner(4, () => inner(5, fail)));
      inner(6, () => assert.throws(() => inner(7, fail)));
    })();
    assert.deepEqual(rows(), [1, 2, 6]);
  });

  it("rolls inner ones back with the outer one", () => {
    const inner = db.transaction(add);
    assert.throws(db.transaction(() => {
      inner(1);
      fail();
    }));
    assert.deepEqual(rows(), []);
  });

  it("keeps the error when SQLite has rolled back itself", () => {
    db.run("create unique index u on t (v); insert into t values (1)");
    const run = db.transaction(() => db.run("insert or rollback into t values (1)"));
    assert.throws(run, { code: "SQLITE_CONSTRAINT_UNIQUE" });
    assert.equal(db.inTransaction, false);
  });

  it("refuses what is no function", () => {
    assert.throws(() => db.transaction("begin" as never), TypeError);
  });
}
