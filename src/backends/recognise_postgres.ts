import { SkiplockedError } from "../errors.ts";
import { isNodePostgres, isNodePostgresPool, nodePostgres, type QueryConnection } from "./node_postgres.ts";
import { isPGlite, isPGliteTransaction, pglite, pgliteTransaction } from "./pglite.ts";
import type { PostgresConnection } from "./postgres_connection.ts";
import { isPostgresJs, isPostgresJsPool, postgresJs } from "./postgres_js.ts";
import { hasMethods } from "./shape.ts";

/** The caller's connection for the backend, known by its shape; undefined for anything else. */
export function recognisePostgres(connection: unknown): PostgresConnection | undefined {
  if (isPostgresJs(connection)) return postgresJs(connection);
  if (isPGlite(connection)) return pglite(connection);
  if (isPGliteTransaction(connection)) return pgliteTransaction(connection);
  return isNodePostgres(connection) ? nodePostgres(connection) : undefined;
}

/**
 * The transaction that the caller says this is.
 *
 * @throws {SkiplockedError} `unsupported_connection` for a pool, which may use another connection for each statement, and
 * for what is no connection.
 */
export function recognisePostgresTransaction(transaction: unknown): PostgresConnection {
  const isPool = isNodePostgresPool(transaction) || isPGlite(transaction) || isPostgresJs(transaction) && isPostgresJsPool(transaction);
  const known = isPool ? undefined : recognisePostgres(transaction) ?? other(transaction);
  if (known !== undefined) return { ...known, begin: null };
  const message = "Cannot use this as a transaction: pass what sql.begin (postgres.js, Bun.SQL) or db.transaction (PGlite) gives its callback, " +
    "or the client of node-postgres that ran begin";
  throw new SkiplockedError("unsupported_connection", message);
}

// Whatever else runs SQL with parameters: in a transaction that is all it takes.
function other(connection: unknown): PostgresConnection | undefined {
  if (!hasMethods(connection, "query") || hasMethods(connection, "prepare")) return undefined;
  const { query } = connection as QueryConnection;
  const run = async (text: string, values?: readonly (string | null)[]) => {
    const { rows } = await query.call(connection, text, values && [...values]);
    return rows.map((row) => Object.values(row));
  };
  return { query: run, script: async (text) => void await run(text), of: connection as object, begin: null };
}
