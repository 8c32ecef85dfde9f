import { SkiplockedError } from "../errors.ts";
import { isNodePostgres, isNodePostgresPool, nodePostgres } from "./node_postgres.ts";
import { isPGlite, isPGliteTransaction, pglite, pgliteTransaction } from "./pglite.ts";
import type { PostgresConnection } from "./postgres_connection.ts";
import { isPostgresJs, isPostgresJsPool, isReserved, postgresJs } from "./postgres_js.ts";
import type { QueryConnection } from "./query_connection.ts";
import { hasMethods } from "./shape.ts";

/** The caller's connection for the backend, known by its shape; undefined for anything else. */
export function recognisePostgres(connection: unknown): PostgresConnection | undefined {
  if (isPostgresJs(connection)) return isReserved(connection) ? undefined : postgresJs(connection);
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
  const known = isPool(transaction) ? undefined : recogniseSaid(transaction);
  if (known !== undefined) return { ...known, begin: null };
  const message = "Cannot use this as a transaction: pass what sql.begin (postgres.js, Bun.SQL) or db.transaction (PGlite) gives its callback, " +
    "or the client or reserved connection that ran begin";
  throw new SkiplockedError("unsupported_connection", message);
}

function isPool(connection: unknown): boolean {
  return isNodePostgresPool(connection) || isPostgresJs(connection) && isPostgresJsPool(connection);
}

// Here the caller's word tells what the shape cannot: that a transaction is open.
function recogniseSaid(connection: unknown): PostgresConnection | undefined {
  if (isPostgresJs(connection)) return postgresJs(connection);
  const known = recognisePostgres(connection);
  if (known !== undefined) return known;
  // A function is a client by HTTP, and a `connect` is that of a pool, perhaps of another database.
  const isSession = typeof connection === "object" && hasMethods(connection, "query") && !hasMethods(connection, "prepare") && !hasMethods(connection, "connect");
  return isSession ? other(connection as QueryConnection) : undefined;
}

// Whatever else runs SQL with parameters: in a transaction that is all it takes.
function other(connection: QueryConnection): PostgresConnection {
  return { query, script: async (text) => void await query(text), of: connection, begin: null };

  async function query(text: string, values?: readonly (string | null)[]): Promise<unknown[][]> {
    const answer: { rows?: unknown } | unknown[] = await connection.query(text, values && [...values]);
    const rows = Array.isArray(answer) ? answer : answer.rows;
    if (Array.isArray(rows)) return rows.map((row) => Object.values(row));
    throw new SkiplockedError("unsupported_connection", 'Cannot use this as a transaction: its "query" gives neither rows nor { rows }');
  }
}
