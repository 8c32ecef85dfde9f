/**
 * SQLite drivers as they are seen from here: by their shape.
 *
 * @module
 */

import { hasMethods } from "./shape.ts";

/** The part of a database handle that is called. */
export interface SqliteHandle {
  /** Compiles one statement. */
  prepare(sql: string): SqliteStatement;
  /** Runs a text of several statements. */
  exec(sql: string): unknown;
  /** Whether a transaction is open: better-sqlite3, libsql, bun:sqlite. */
  readonly inTransaction?: boolean;
  /** The same in node:sqlite. */
  readonly isTransaction?: boolean;
}

/** The part of a prepared statement that is called. */
export interface SqliteStatement {
  /** Its rows. */
  all(...params: unknown[]): unknown[];
  /** Runs it for its effect. */
  run(...params: unknown[]): unknown;
}

/** Whether this is a SQLite handle, by its shape. */
export function isSqlite(connection: unknown): connection is SqliteHandle {
  return hasMethods(connection, "prepare", "exec") && ["inTransaction", "isTransaction"].some((flag) => flag in Object(connection));
}

/** Whether a transaction is open on it. */
export function isInTransaction(db: SqliteHandle): boolean {
  return db.inTransaction ?? db.isTransaction ?? false;
}
