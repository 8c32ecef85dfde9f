/**
 * SQLite drivers as they are seen from here: by their shape.
 *
 * @module
 */

/** The part of a database handle that is called. */
export interface SqliteHandle {
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  readonly inTransaction: boolean;
}

/** The part of a prepared statement that is called. */
export interface SqliteStatement {
  all(...params: unknown[]): unknown[];
  run(...params: unknown[]): unknown;
}

/** Whether this is a SQLite handle, by its shape. */
export function isSqlite(connection: unknown): connection is SqliteHandle {
  const { prepare, exec, inTransaction } = (connection ?? {}) as Record<string, unknown>;
  return typeof prepare === "function" && typeof exec === "function" && typeof inTransaction === "boolean";
}
