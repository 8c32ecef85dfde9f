/**
 * SQLite through any driver with prepared statements: better-sqlite3, libsql, bun:sqlite, node:sqlite, what `openSqlite` gives.
 *
 * Every transaction is synchronous: nothing is awaited inside one, so no other code can get between its statements.
 *
 * @module
 */

import { explainSqlite, isBusy, isFinalized } from "../driver_errors.ts";
import { SkiplockedError } from "../errors.ts";
import type { Query, Statement } from "../query.ts";
import { decodeRows, namedParams } from "../rows.ts";
import { PATIENCE_MS, untilNotBusy } from "../wait.ts";
import type { Backend, Migrated } from "./backend.ts";
import { migrateSqlite, recordedVersion } from "./migrate_sqlite.ts";
import { planMigration } from "./plan_migration.ts";
import { compile, isInTransaction, isSqlite, type SqliteHandle, type SqliteStatement } from "./sqlite_handle.ts";

// How long SQLite itself waits for a lock, standing in the way of everything else that this process does.
const BLOCKING_MS = 20;

// After a lock was met, for how long the next tries do not wait in SQLite at all.
const CROWDED_MS = 500;

// What all queues on a handle share: prepared statements, and when a lock was last in the way.
const handles = new WeakMap<SqliteHandle, { statements: Map<string, SqliteStatement>; busyAt: number }>();

/**
 * @param db The caller's handle. When it is in a transaction, that is joined by a savepoint.
 */
export function sqliteBackend(db: SqliteHandle): Backend {
  const shared = handles.get(db) ?? { statements: new Map<string, SqliteStatement>(), busyAt: -Infinity };
  handles.set(db, shared);

  const backend: Backend = {
    dialect: "sqlite",
    run: (query, params) => patiently(() => execute(query, params)),
    // A query is a transaction, and nobody else writes meanwhile: there never is anything to wait for.
    transaction: (work) => work(backend),
    migrate,
    within,
  };
  return backend;

  // Looks first without a lock: mostly there is nothing to do.
  function migrate(): Promise<Migrated> {
    return patiently(() => {
      const version = recordedVersion(db);
      return planMigration("sqlite", version).length === 0 ? { from: version, to: version } : atomically(() => migrateSqlite(db));
    });
  }

  function execute<Params, Row>(query: Query<Params, Row>, params: Params): Row[] {
    const [only, more] = query.sqlite;
    const rows = only !== undefined && more === undefined
      ? step(only, params)
      : atomically(() => query.sqlite.flatMap((statement) => step(statement, params)));
    return decodeRows(query, rows);
  }

  function step(statement: Statement, params: unknown): unknown[] {
    const named = statement.params.length === 0 ? [] : [namedParams(statement.params, params)];
    if (statement.rows) return prepare(statement.text).all(...named);
    prepare(statement.text).run(...named);
    return [];
  }

  function prepare(text: string): SqliteStatement {
    const known = shared.statements.get(text);
    if (known !== undefined) return known;
    const statement = compile(db, text);
    shared.statements.set(text, statement);
    return statement;
  }

  // All or nothing, also inside a transaction of the caller's.
  function atomically<T>(work: () => T): T {
    const [begin, commit, rollback] = isInTransaction(db)
      ? ["savepoint skiplocked", "release skiplocked", "rollback to skiplocked; release skiplocked"]
      : ["begin immediate", "commit", "rollback"];
    try {
      // By exec, which depends on nothing that the caller may have finalized.
      db.exec(begin);
      const result = work();
      db.exec(commit);
      return result;
    } catch (error) {
      // SQLite has rolled back by itself after some errors.
      if (isInTransaction(db)) rollBack(rollback);
      throw error;
    }
  }

  // Where that fails as well the first error says more.
  function rollBack(statements: string): void {
    try {
      db.exec(statements);
    } catch {}
  }

  // A statement that is kept may be gone: finalized by the caller, who has the same one of `query`, or with a handle that was
  // closed and opened again.
  function freshly<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!isFinalized(error)) throw error;
      shared.statements.clear();
      return work();
    }
  }

  // Inside the caller's transaction nothing is tried again, and a call without `await` inside a synchronous one is part of
  // it: everything up to the first try is synchronous.
  async function patiently<T>(work: () => T): Promise<T> {
    try {
      return isInTransaction(db) ? freshly(work) : await untilNotBusy(() => freshly(() => withShortTimeout(unlessTaken(work))), busy);
    } catch (error) {
      throw explainSqlite(error);
    }
  }

  // While a lock is waited for, the caller may begin a transaction on the handle: what was asked for before is no part of it.
  function unlessTaken<T>(work: () => T): () => T {
    return () => {
      if (isInTransaction(db)) throw Object.assign(new Error("The handle is in a transaction"), { code: "SQLITE_BUSY" });
      return work();
    };
  }

  // The handle is the caller's: it gets its own timeout back before anybody else can use it. Many calls may wait for one lock
  // at once: only the first of them lets SQLite wait.
  function withShortTimeout<T>(work: () => T): T {
    const before = Number(Object.values(prepare("pragma busy_timeout").all()[0] as object)[0]);
    const timeout = performance.now() - shared.busyAt < CROWDED_MS ? 0 : BLOCKING_MS;
    prepare(`pragma busy_timeout = ${timeout}`).all();
    try {
      return work();
    } catch (error) {
      if (isBusy(error)) shared.busyAt = performance.now();
      throw error;
    } finally {
      prepare(`pragma busy_timeout = ${before}`).all();
    }
  }

  function within(transaction: unknown): Backend {
    if (!isSqlite(transaction)) {
      throw new SkiplockedError("unsupported_connection", "Cannot use this as a transaction: on SQLite pass the database handle that is in it");
    }
    return sqliteBackend(transaction);
  }
}

function busy(cause: unknown): SkiplockedError {
  const message = `The SQLite file stayed locked, or its handle in a transaction, for ${PATIENCE_MS / 1000} s, nothing was changed: ` +
    "find who holds a transaction open, or try again";
  return new SkiplockedError("busy", message, { cause });
}
