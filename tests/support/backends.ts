import { randomUUID } from "node:crypto";
import { after } from "node:test";
import SqliteDatabase from "better-sqlite3";
import postgres from "postgres";
import type { Connection } from "../../mod.ts";
import { createQueue, type Payloads, type Queue, type QueueOptions } from "../../mod.ts";
import { openSqlite } from "../../src/sqlite.ts";
import { temporaryFolder } from "./temp.ts";

/** A kind of database that the conformance suite runs on. */
export interface BackendUnderTest {
  /** Begins the name of every suite, which the runner counts by. */
  readonly name: string;
  readonly dialect: "postgres" | "sqlite";
  /** A new, empty database or schema; closed when the test ends. */
  open(): Promise<Opened>;
}

/** Tables of its own for one test, once they are migrated. */
export interface Opened {
  readonly dialect: "postgres" | "sqlite";
  readonly connection: Connection;
  /** The url of the server or the path of the file; null in memory. */
  readonly address: string | null;
  /** The schema of the tables; undefined on SQLite. */
  readonly schema: string | undefined;
  queue<P extends Payloads = Payloads>(options?: QueueOptions): Queue<P>;
  /** Runs any SQL that both dialects read; rows as plain objects, numbers as numbers, bigints as strings or numbers. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** Moves every time of an attempt into the past, as if so many milliseconds went by. */
  age(attemptId: string, ms: number): Promise<void>;
  /** Runs `work` in a transaction of the caller's, which is rolled back when it throws. */
  transaction<T>(work: (transaction: Connection) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const TIMES = ["locked_at", "lock_heartbeat_at", "started_at", "run_at", "created_at"];

/** Every backend; Postgres needs `DATABASE_URL`, which `npm test` sets. */
export const backends: readonly BackendUnderTest[] = [
  { name: "sqlite file", dialect: "sqlite", open: openFile },
  { name: "sqlite memory", dialect: "sqlite", open: openMemory },
  ...(process.env.DATABASE_URL ? [{ name: "postgres", dialect: "postgres" as const, open: openPostgres }] : []),
];

async function openFile(): Promise<Opened> {
  const path = `${temporaryFolder()}/queue.db`;
  return sqlite(await openSqlite(path, { synchronous: "NORMAL" }), path);
}

// better-sqlite3 itself, without the shim: with its own defaults, as users pass it.
function openMemory(): Promise<Opened> {
  return Promise.resolve(sqlite(new SqliteDatabase(":memory:"), null));
}

type Handle = Connection & { prepare(sql: string): { all(): unknown[] }; exec(sql: string): unknown; close(): unknown; inTransaction: boolean };

function sqlite(db: Handle, address: string | null): Opened {
  const opened: Opened = {
    dialect: "sqlite",
    connection: db,
    address,
    schema: undefined,
    queue: (options) => createQueue(db, options),
    sql: (text) => {
      if (/^\s*(select|with|pragma|explain)|\breturning\b/i.test(text)) return Promise.resolve(db.prepare(text).all() as Record<string, unknown>[]);
      db.exec(text);
      return Promise.resolve([]);
    },
    age: async (attemptId, ms) => {
      const moved = TIMES.map((time) => `${time} = strftime('%Y-%m-%d %H:%M:%f', ${time}, '-${ms / 1000} seconds')`);
      await opened.sql(`update workflow_attempts set ${moved.join(", ")} where attempt_id = ${attemptId}`);
    },
    transaction: async (work) => {
      db.exec("begin");
      try {
        const result = await work(db);
        db.exec("commit");
        return result;
      } catch (error) {
        if (db.inTransaction) db.exec("rollback");
        throw error;
      }
    },
    close: () => Promise.resolve(void db.close()),
  };
  after(opened.close);
  return opened;
}

// A schema each and not a database each: that takes a tenth of the time.
async function openPostgres(): Promise<Opened> {
  const schema = `test_${randomUUID()}`;
  const url = String(process.env.DATABASE_URL);
  const sql = postgres(url, {
    max: 4,
    connection: { search_path: `"${schema}"` },
    onnotice: (notice) => console.error("NOTICE", notice.message),
  });
  await sql.unsafe(`create schema "${schema}"`);
  const opened: Opened = {
    dialect: "postgres",
    connection: sql,
    address: url,
    schema,
    queue: (options) => createQueue(sql, { schema, ...options }),
    sql: async (text) => [...await sql.unsafe(text)],
    age: async (attemptId, ms) => {
      const moved = TIMES.map((time) => `${time} = ${time} - ${ms} * interval '1 millisecond'`);
      await sql.unsafe(`update workflow_attempts set ${moved.join(", ")} where attempt_id = ${attemptId}`);
    },
    transaction: (work) => sql.begin((transaction) => work(transaction)) as Promise<never>,
    close: async () => {
      await sql.unsafe(`set client_min_messages = warning; drop schema if exists "${schema}" cascade`);
      await sql.end({ timeout: 5 });
    },
  };
  after(opened.close);
  return opened;
}
