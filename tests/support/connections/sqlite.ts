import { atEnd } from "../testing.ts";
import { type Connection, createQueue } from "../../../mod.ts";
import { openSqlite } from "../../../src/sqlite.ts";
import { runtimePackage } from "../runtimes.ts";
import { temporaryFolder } from "../temp.ts";
import type { Open, Opened } from "./opened.ts";

const TIMES = ["locked_at", "lock_heartbeat_at", "started_at", "run_at", "created_at"];

type Handle = Connection & {
  prepare(sql: string): Statement;
  exec(sql: string): unknown;
  close(): unknown;
  readonly inTransaction?: boolean;
  readonly isTransaction?: boolean;
};

interface Statement {
  all(): unknown[];
  safeIntegers?(enabled: boolean): unknown;
  setReadBigInts?(enabled: boolean): unknown;
  setReturnArrays?(enabled: boolean): unknown;
  finalize?(): unknown;
}

/** What `openSqlite` gives, on a file; with `begin` everything happens in one transaction of the caller's. */
export function shim({ begin = false }: { begin?: boolean } = {}): Open {
  return async () => {
    const path = `${temporaryFolder()}/queue.db`;
    const db = await openSqlite(path, { synchronous: "NORMAL" });
    if (begin) db.exec("begin");
    return sqlite(db as Handle, path);
  };
}

// The drivers themselves in memory, with their own defaults, as users pass them.

export function betterSqlite3(which: "better-sqlite3" | "better-sqlite3 13", { safeIntegers = false }: { safeIntegers?: boolean } = {}): Open {
  return async () => {
    const specifier = which === "better-sqlite3" ? which : `${runtimePackage("better-sqlite3")}/lib/index.js`;
    const { default: Database } = await import(specifier);
    const db = new Database(":memory:");
    if (safeIntegers) db.defaultSafeIntegers(true);
    return sqlite(db, null);
  };
}

export async function libsql(): Promise<Opened> {
  const { default: Database } = await import("libsql");
  return sqlite(new Database(":memory:") as unknown as Handle, null);
}

export function nodeSqlite(options: object): Open {
  return async () => {
    const specifier = "node:sqlite";
    const { DatabaseSync } = await import(specifier);
    return sqlite(new DatabaseSync(":memory:", options), null);
  };
}

export function bunSqlite(options: object): Open {
  return async () => {
    const specifier = "bun:sqlite";
    const { Database } = await import(specifier);
    return sqlite(new Database(":memory:", options), null);
  };
}

function sqlite(db: Handle, address: string | null): Opened {
  const inTransaction = () => db.inTransaction ?? db.isTransaction;
  let closed = false;
  const opened: Opened = {
    dialect: "sqlite",
    connection: db,
    address,
    schema: undefined,
    queue: (options) => createQueue(db, options),
    sql: (text) => {
      if (/^\s*(select|with|pragma|explain)|\breturning\b/i.test(text)) return Promise.resolve(look(db.prepare(text)));
      db.exec(text);
      return Promise.resolve([]);
    },
    age: async (attemptId, ms) => {
      const moved = TIMES.map((time) => `${time} = strftime('%Y-%m-%d %H:%M:%f', ${time}, '-${ms / 1000} seconds')`);
      await opened.sql(`update workflow_attempts set ${moved.join(", ")} where attempt_id = ${attemptId}`);
    },
    transaction: async (work) => {
      const [begin, commit, rollback] = inTransaction() ? ["savepoint test", "release test", "rollback to test"] : ["begin", "commit", "rollback"];
      db.exec(String(begin));
      try {
        const result = await work(db);
        db.exec(String(commit));
        return result;
      } catch (error) {
        if (inTransaction()) db.exec(String(rollback));
        throw error;
      }
    },
    close: () => {
      // node:sqlite does not take a second one.
      if (!closed) db.close();
      closed = true;
      return Promise.resolve();
    },
  };
  atEnd(opened.close);
  return opened;
}

// The eyes of the test are not what is tested: they read as if no option were set.
function look(statement: Statement): Record<string, unknown>[] {
  statement.safeIntegers?.(false);
  statement.setReadBigInts?.(false);
  statement.setReturnArrays?.(false);
  const rows = statement.all().map((row) => ({ ...row as object }));
  // On Bun a statement keeps the file open after close().
  statement.finalize?.();
  return rows;
}
