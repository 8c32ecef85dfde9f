import type { Call } from "./sqlite_calls.ts";
import { answerOf } from "./sqlite_json.ts";
import { add, rows } from "./sqlite_table.ts";

/** Calls of statements that build on one another. */
export const STATEMENT_SEQUENCES: Record<string, Call> = {
  "parameters without values": (db) => db.query("select ? as v").get(),
  "parameters without values, after a call with them": (db) => [db.query("select ? as v").get(1), db.query("select ? as v").get()],
  "db.run with parameters without values": (db) => [db.run("insert into t (v) values (?)"), rows(db)],
  "names that are inherited": (db) => db.query<object, [object] & any>("select :a").get(Object.create({ a: 1 })),
  "names of an object without a prototype": (db) => db.query<object, [object] & any>("select :a").get(Object.assign(Object.create(null), { a: 1 })),
  "a bigint of 65 bits": (db) => db.query("select ? as v").get(2n ** 63n),
  "a text with a NUL": (db) => db.query("select ? as v").get("a\0b"),
  "a text with a NUL, stored": (db) => db.query("select hex(?) as v").get("a\0b"),
  "zeros with a sign, stored": (db) => {
    db.run("create table z (a, b real, c integer)");
    db.query("insert into z values (?1, ?1, ?1)").run(-0);
    return db.query("select *, typeof(a), typeof(b), typeof(c) from z").values();
  },
  "a name in double quotes that is none": (db) => db.query('select "nothing" as v').get(),

  "query is cached": (db) => [db.query("select 1") === db.query("select 1"), db.prepare("select 1") === db.prepare("select 1")],
  "query drops what is over 20": (db) => {
    const [first, second] = [db.query("select 0"), db.query("select 1")];
    for (let i = 2; i < 20; i++) db.query(`select ${i}`);
    db.query("select 0");
    db.query("select 20");
    return [db.query("select 0") === first, db.query("select 1") === second, second.values()];
  },
  "query compiles anew what is finalized": (db) => {
    const first = db.query("select 1 as v");
    first.finalize();
    return [db.query("select 1 as v") === first, db.query("select 1 as v").get()];
  },
  "a finalized statement is refused": (db) => {
    const statement = db.prepare("select 1");
    statement.finalize();
    statement.finalize();
    const ways = ["all", "get", "values", "run"] as const;
    return [...ways.map((way) => answerOf(() => statement[way]())), answerOf(() => [...statement.iterate()])];
  },
  "columnNames of a finalized statement": (db) => {
    const statement = db.prepare("select 1");
    statement.finalize();
    return statement.columnNames;
  },
  "toString of a statement": (db) => [String(db.prepare("select 1 as v")), String(db.prepare("select 1; select 2"))],
  "toString of a statement with values": (db) => {
    const statement = db.prepare("select ? as v");
    statement.all(7);
    return String(statement);
  },
  "a statement at the end of a using block": (db) => {
    const statement = db.prepare("select 1 as v");
    statement[Symbol.dispose]();
    return answerOf(() => statement.all());
  },
  "a database at the end of a using block": (db) => {
    db[Symbol.dispose]();
    return answerOf(() => db.run("select 1"));
  },

  "safeIntegers back and forth": (db) => {
    const statement = db.prepare("select 1 as v");
    return [statement.safeIntegers(), statement.safeIntegers(true) === statement, statement.all(), statement.safeIntegers(false).all()];
  },

  "constraints": (db) => {
    db.run("create table c (a integer primary key, b unique not null check (b > 0), d references t (id) deferrable initially deferred)");
    db.run("insert into c values (1, 1, null)");
    return ["(1, 2, 1)", "(2, 1, 1)", "(2, null, 1)", "(2, 0, 1)", "(2, 2, 99)", "('x', 2, 1)"].flatMap((values) => {
      const sql = `insert into c values ${values}`;
      return [answerOf(() => db.run(sql)), answerOf(() => db.query(sql).all()), answerOf(() => [...db.query(sql).iterate()])];
    });
  },
  "raise in a trigger": (db) => {
    db.run("create trigger g before insert on t begin select raise(abort, 'not here'); end");
    return add(db, 1);
  },
  "a strict table": (db) => db.run("create table s (a integer) strict; insert into s values ('x')"),
  "a readonly pragma": (db) => [db.run("pragma query_only = on"), answerOf(() => add(db, 1))],
  "a table dropped under a statement": (db) => {
    const statement = db.prepare("select v from t");
    db.run("drop table t");
    return statement.all();
  },
  "a column added under a statement": (db) => {
    const statement = db.prepare("select * from t where id = 1");
    const before = statement.all();
    db.run("alter table t add column w default 7");
    return [before, statement.all(), statement.values(), statement.columnNames];
  },
  "writable_schema": (db) => [db.run("pragma writable_schema = on"), db.query("pragma writable_schema").values()],
  "vacuum": (db) => db.run("vacuum"),
  "attach": (db) => [db.run("attach ':memory:' as a; create table a.x (y); insert into a.x values (1)"), db.query("select y from a.x").get()],

  "iterate left early": (db) => {
    const statement = db.prepare("select v from t");
    for (const _ of statement.iterate()) break;
    return [statement.all(), add(db, 1)];
  },
  "iterate without a call for a row": (db) => {
    db.query("insert into t (v) values (9)").iterate();
    return rows(db);
  },
  "iterate refuses when the first row is asked for": (db) => {
    const iterator = db.query<object, unknown[] & any>("select ?").iterate(Symbol("s"));
    return answerOf(() => iterator.next());
  },
  "iterate fails at its second row": (db) => {
    const read: unknown[] = [];
    const failure = answerOf(() => {
      for (const row of db.query("select json(v) as v from (select '[]' as v union all select '{')")) read.push(row);
    });
    return [read, failure];
  },
  "iterate while another statement reads": (db) => {
    const read: unknown[] = [];
    for (const row of db.query("select v from t")) read.push(row, db.query("select count(*) as n from t").get());
    return read;
  },
  "iterate while another statement writes": (db) => {
    const read: unknown[] = [];
    for (const row of db.query("select id from t order by id limit 3")) read.push(row, db.run("update t set v = 1 where id = 1").changes);
    return read;
  },
  "iterate sees rows that are written meanwhile": (db) => {
    let read = 0;
    for (const _ of db.query("select id from t order by id")) if (++read === 1) add(db, "late");
    return read;
  },
  "iterate while the same statement runs": (db) => {
    const statement = db.prepare("select id from t");
    const iterator = statement.iterate();
    return [iterator.next().value, statement.values().length, answerOf(() => iterator.next().value)];
  },
  "iterate and finalize": (db) => {
    const statement = db.prepare("select id from t");
    const iterator = statement.iterate();
    return [iterator.next().value, answerOf(() => statement.finalize()), answerOf(() => iterator.next())];
  },
};
