/**
 * SQLite's errors as bun:sqlite throws them, whatever the driver.
 *
 * @module
 */

import { nameOfCode, numberOfCode } from "./result_codes.ts";

/** Runs what may fail in SQLite. */
export function withSqliteErrors<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw toSqliteError(error);
  }
}

/** The driver's own error, with its message and stack, and with the `name`, `code` and `errno` of bun:sqlite. */
export function toSqliteError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return sqliteError(error, nameOfCode(errcode), errcode);
  if (typeof code === "string" && code.startsWith("SQLITE_")) return sqliteError(error, code, numberOfCode(code));
  return error;
}

/** Makes an error one of SQLite's. */
export function sqliteError(error: Error, code: string | undefined, errno: number | undefined): Error {
  Object.defineProperty(error, "name", { value: "SQLiteError", configurable: true, writable: true });
  return Object.assign(error, { code, errno });
}

/** Whether a text ended in the middle of a statement. */
export function isIncomplete(error: unknown): boolean {
  return (error as Error).message === "incomplete input";
}
