import type { Call } from "./sqlite_calls.ts";
import { answerOf } from "./sqlite_json.ts";
import { add, rows } from "./sqlite_table.ts";

const fail = () => {
  throw new Error("no");
};

/** Transactions, the connection itself, and what there is to call. */
export const CONNECTION_SEQUENCES: Record<string, Call> = {
  "transaction commits": (db) => {
    const run = db.transaction((v: number) => [db.inTransaction, add(db, v)]);
    return [run(4), run.deferred(5), run.immediate(6), run.exclusive(7), db.inTransaction, rows(db)];
  },
  "transaction rolls back": (db) => {
    const run = db.transaction(() => [add(db, 4), fail()]);
    return [run, run.deferred, run.immediate, run.exclusive].map((each) => [answerOf(() => each()), db.inTransaction, rows(db)]);
  },
  "transaction passes this and its arguments": (db) => {
    return db.transaction(function (this: unknown, ...args: number[]) {
      return [this, args];
    }).call("me", 1, 2);
  },
  "transaction in a transaction": (db) => {
    const inner = db.transaction((v: number, then: () => void) => [add(db, v), then()]);
    db.transaction(() => {
      inner(4, () => {});
      for (const each of [inner, inner.deferred, inner.immediate, inner.exclusive]) answerOf(() => each(5, fail));
      inner.exclusive(6, () => {});
      answerOf(() => inner(7, () => inner(8, fail)));
    })();
    return [db.inTransaction, rows(db)];
  },
  "transaction in one that was begun by hand": (db) => {
    db.run("begin");
    answerOf(() => db.transaction(() => [add(db, 4), fail()])());
    db.transaction(() => add(db, 5))();
    return [db.inTransaction, db.run("commit"), rows(db)];
  },
  "transaction that SQLite rolls back itself": (db) => {
    const failure = answerOf(db.transaction(() => [add(db, 4), db.run("insert or rollback into t values (1, 1)")]));
    return [failure, db.inTransaction, rows(db)];
  },
  "transaction whose commit fails": (db) => {
    db.run("create table c (a references t (id) deferrable initially deferred)");
    return [answerOf(db.transaction(() => db.run("insert into c values (99)"))), db.inTransaction, db.query("select * from c").values()];
  },
  "transaction that is committed inside": (db) => {
    return [answerOf(db.transaction(() => [add(db, 4), db.run("commit")])), db.inTransaction, rows(db)];
  },
  "transaction over a promise": (db) => {
    const outcome = answerOf(() => void db.transaction(() => Promise.resolve(add(db, 4)))());
    return [outcome, db.inTransaction, rows(db)];
  },
  "transaction over no function": (db) => db.transaction("begin" as never),

  "filename": (db) => db.filename,
  "inTransaction": (db) => [db.inTransaction, db.run("begin"), db.inTransaction, db.run("rollback"), db.inTransaction],
  "close twice": (db) => [db.close(), db.close(), db.close(true)],
  "use after close": (db) => {
    const statement = db.query("select 1 as v");
    db.close();
    return [() => db.run("select 1"), () => db.query("select 1"), () => db.prepare("select 2"), () => db.inTransaction, () => statement.all(), () => db.transaction(() => 1)()]
      .map((call) => answerOf(call));
  },
  "a statement of prepare after close": (db) => {
    const statement = db.prepare("select 1 as v");
    statement.all();
    db.close();
    return statement.all();
  },
  "close while iterating": (db) => {
    const iterator = db.query("select v from t").iterate();
    iterator.next();
    return [answerOf(() => db.close(true)), answerOf(() => db.run("select 1"))];
  },
  "the next row after close": (db) => {
    const iterator = db.query("select v from t").iterate();
    iterator.next();
    db.close();
    return iterator.next();
  },
  "close in a transaction": (db) => [db.run("begin; delete from t"), db.close()],
  "no string for SQL": (db) => [undefined, null, 7].map((sql) => answerOf(() => db.query(sql as never))),

  "members of a database": (db) => members(db),
  "members of a statement": (db) => members(db.prepare("select 1")),
  "members of a transaction": (db) => Object.getOwnPropertyNames(db.transaction(() => {})).filter((name) => !["length", "name", "prototype"].includes(name)).sort(),
  "members of an error": (db) => {
    try {
      return db.run("select nothing");
    } catch (error) {
      return Object.keys(error as Error).sort();
    }
  },
};

function members(object: object): string[] {
  const names = new Set<string | symbol>(Object.getOwnPropertyNames(object));
  for (const name of Reflect.ownKeys(Object.getPrototypeOf(object))) names.add(name);
  // Node 20 and 22 describe this symbol in another way.
  return [...names].map((name) => name === Symbol.dispose ? "[Symbol.dispose]" : typeof name === "symbol" ? `[${name.description}]` : name).sort();
}
