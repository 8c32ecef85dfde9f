// What is asked of every driver: each call gets a database with a table t (id, v) of three rows.
import type { Database } from "../../src/sqlite.ts";
import { CONNECTION_SEQUENCES } from "./sqlite_connection_sequences.ts";
import { GENERATED } from "./sqlite_generated.ts";
import { failureOf } from "./sqlite_json.ts";
import { type Asked, QUERIES } from "./sqlite_queries.ts";
import { SCRIPT_SEQUENCES } from "./sqlite_script_sequences.ts";
import { STATEMENT_SEQUENCES } from "./sqlite_statement_sequences.ts";

export type Call = (db: Database) => unknown;

export const CALLS: [name: string, call: Call][] = [
  ...QUERIES.map((asked): [string, Call] => [nameOf(asked), (db) => ask(db, asked)]),
  ...GENERATED.map((asked, index): [string, Call] => [`${index}: ${nameOf(asked)}`, (db) => ask(db, asked)]),
  ...[STATEMENT_SEQUENCES, SCRIPT_SEQUENCES, CONNECTION_SEQUENCES].flatMap((sequences) => Object.entries(sequences)),
];

/** Every way of asking, each in a savepoint of its own, so that a statement that writes finds the same rows. */
function ask(db: Database, [sql, ...params]: Asked): unknown {
  const ways: Record<string, () => unknown> = {
    all: () => statement(db, sql).all(...params),
    get: () => statement(db, sql).get(...params),
    values: () => statement(db, sql).values(...params),
    iterate: () => [...statement(db, sql).iterate(...params)],
    run: () => statement(db, sql).run(...params),
    "db.run": () => db.run(sql, ...params as never[]),
    safeIntegers: () => statement(db, sql).safeIntegers(true).all(...params),
    about: () => [statement(db, sql).columnNames, statement(db, sql).paramsCount],
  };
  return Object.entries(ways).map(([name, way]) => [name, attempt(db, way)]);
}

function statement(db: Database, sql: string) {
  return db.prepare<Record<string, never>, any[]>(sql);
}

function attempt(db: Database, way: () => unknown): unknown {
  db.run("savepoint before");
  try {
    return way();
  } catch (error) {
    return failureOf(error as Error);
  } finally {
    db.run("rollback to before; release before");
  }
}

function nameOf([sql, ...params]: Asked): string {
  return `${sql} <- ${JSON.stringify(params, describe)}`;
}

function describe(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (value === undefined || typeof value === "symbol" || typeof value === "function") return typeof value;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} ${new Uint8Array(value.buffer)}`;
  return typeof value === "number" && !Number.isFinite(value) || Object.is(value, -0) ? `${Object.is(value, -0) ? "-0" : value}` : value;
}
