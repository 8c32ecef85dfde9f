import { SkiplockedError } from "../errors.ts";
import type { Backend } from "./backend.ts";
import type { NodePostgres, PGliteShape, QueryConnection } from "./query_connection.ts";
import { postgresBackend } from "./postgres.ts";
import { isPostgresJs, isReserved, type PostgresJs, type PostgresJsPool } from "./postgres_js.ts";
import { recognisePostgres } from "./recognise_postgres.ts";
import { sqliteBackend } from "./sqlite.ts";
import { isSqlite, type SqliteHandle } from "./sqlite_handle.ts";

/**
 * An open connection of the caller's, known by its shape. Postgres: postgres.js and Bun.SQL (a pool, or the transaction it
 * gives), node-postgres (Pool, Client), PGlite. SQLite: better-sqlite3, libsql, bun:sqlite, node:sqlite, `openSqlite` of
 * `skiplocked/sqlite`.
 */
export type Connection = PostgresJs | PostgresJsPool | NodePostgres | PGliteShape | SqliteHandle;

/** What is in a transaction of the caller's: a connection, or anything else that runs SQL with parameters. */
export type Transaction = Connection | QueryConnection;

/**
 * @param schema The schema asked for, if any.
 * @throws {SkiplockedError} `unsupported_connection`, or `invalid_argument` for a schema on SQLite.
 */
export function recognise(connection: unknown, schema: string | undefined): Backend {
  // SQLite first: the handle of bun:sqlite has all methods of PGlite, which has no "prepare".
  if (!isSqlite(connection)) {
    const postgres = recognisePostgres(connection);
    if (postgres !== undefined) return postgresBackend(postgres, schema ?? "public");
    const message = `Cannot create a queue on ${describe(connection)}: pass an open connection of postgres.js or Bun.SQL (a function with "unsafe" and "begin", or the transaction it gives; not a reserved one), ` +
      `of node-postgres ("query", "connect", and "totalCount" of a Pool or "escapeIdentifier" of a Client) or PGlite ("query", "exec" and "transaction"), ` +
      `or a SQLite handle ("prepare", "exec" and "inTransaction" or "isTransaction": better-sqlite3, libsql, bun:sqlite, node:sqlite, openSqlite)`;
    throw new SkiplockedError("unsupported_connection", message);
  }
  if (schema !== undefined) {
    throw new SkiplockedError("invalid_argument", `Cannot create a queue: "schema" is for Postgres, a SQLite file has one queue, got "${schema}"`);
  }
  return sqliteBackend(connection);
}

// Never the value itself: a connection string holds a password.
function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "string") return "a string (a URL is not opened here: open it with its driver)";
  if (typeof (value as PromiseLike<unknown>).then === "function") return 'a promise (put "await" before it)';
  if (isPostgresJs(value) && isReserved(value)) {
    return 'a reserved connection (create the queue on its pool; while a transaction is open on it, pass it to "using")';
  }
  const { adapter } = (value as { options?: { adapter?: unknown } }).options ?? {};
  if (typeof value === "function" && typeof adapter === "string") return `Bun.SQL with its adapter "${adapter}" (only "postgres" will do)`;
  const own = typeof value === "function" ? `a function "${value.name}"` : `an object of ${value.constructor?.name ?? "no class"}`;
  const methods = ["query", "connect", "execute", "prepare", "exec", "unsafe"].filter((name) => name in Object(value));
  return typeof value === "object" || typeof value === "function" ? `${own} with ${methods.join(", ") || "none of the known methods"}` : `a ${typeof value}`;
}
