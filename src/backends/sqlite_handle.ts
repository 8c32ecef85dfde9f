/**
 * SQLite drivers as they are seen from here: by their shape.
 *
 * @module
 */

import { SkiplockedError } from "../errors.ts";
import { hasMethods } from "./shape.ts";

/** The part of a database handle that is called. */
export interface SqliteHandle {
  /** Compiles one statement. */
  prepare(sql: string): SqliteStatement;
  /** The same in bun:sqlite, which closes these with the database, and keeps its file open for those of `prepare`. */
  query?(sql: string): SqliteStatement;
  /** Runs a text of several statements. */
  exec(sql: string): unknown;
  /** Whether it is open: better-sqlite3, libsql. A function in node:sqlite. */
  readonly open?: unknown;
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

/** What node:sqlite takes from the options of the handle, for each statement. */
interface NodeStatement {
  setReadBigInts?(enabled: boolean): unknown;
  setAllowBareNamedParameters?(enabled: boolean): unknown;
}

/** Whether this is a SQLite handle, by its shape. */
export function isSqlite(connection: unknown): connection is SqliteHandle {
  return hasMethods(connection, "prepare", "exec") && ["inTransaction", "isTransaction"].some((flag) => flag in Object(connection));
}

/** Whether a transaction is open on it. */
export function isInTransaction(db: SqliteHandle): boolean {
  // libsql ends the process when it is asked for this after close.
  if (db.open === false) return false;
  return db.inTransaction ?? db.isTransaction ?? false;
}

/**
 * Compiles a statement that is kept for as long as the handle.
 *
 * @throws {SkiplockedError} `unsupported_connection` if this is no handle after all but a client that answers by promises.
 */
export function compile(db: SqliteHandle, text: string): SqliteStatement {
  const statement = db.query === undefined ? db.prepare(text) : db.query(text);
  if (hasMethods(statement, "all", "run")) {
    const { setReadBigInts, setAllowBareNamedParameters } = statement as NodeStatement;
    // Node 26 runs a statement and then throws, if some rowid of the connection is beyond 2^53.
    setReadBigInts?.call(statement, true);
    setAllowBareNamedParameters?.call(statement, true);
    return statement;
  }
  const message = "Cannot run SQL on this handle: its statements have no synchronous \"all\" and \"run\", pass the synchronous API of its driver";
  throw new SkiplockedError("unsupported_connection", message);
}
