/**
 * SQLite drivers as they are seen from here: by their shape.
 *
 * @module
 */

/** The part of a database handle that is called. */
export interface SqliteHandle {
  /** Compiles one statement. */
  prepare(sql: string): SqliteStatement;
  /** Runs a text of several statements. */
  exec(sql: string): unknown;
  /** Whether a transaction is open. */
  readonly inTransaction: boolean;
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
  const { prepare, exec, inTransaction } = (connection ?? {}) as Record<string, unknown>;
  return typeof prepare === "function" && typeof exec === "function" && typeof inTransaction === "boolean";
}
