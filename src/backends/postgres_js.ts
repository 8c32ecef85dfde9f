/**
 * postgres.js as it is seen from here: by its shape.
 *
 * @module
 */

/** The part of a postgres.js `Sql` or `TransactionSql` that is called. Its own types are not used: nobody needs the package. */
export interface PostgresJs {
  /** Runs a text with its parameters. */
  unsafe(text: string, params?: (string | null)[], options?: { prepare?: boolean }): PromiseLike<readonly unknown[]>;
}

/** A pool that can begin a transaction; a transaction has no `begin`. */
export interface PostgresJsPool extends PostgresJs {
  /** Runs `work` in a transaction. */
  begin<T>(options: string, work: (transaction: PostgresJs) => Promise<T>): Promise<unknown>;
}

/**
 * Whether this is a pool or a transaction of postgres.js, by its shape: two copies of a package have two classes. A reserved
 * connection is neither: it cannot tell whether a transaction is open on it.
 */
export function isPostgresJs(connection: unknown): connection is PostgresJs {
  const { unsafe } = (connection ?? {}) as Partial<PostgresJs>;
  return typeof connection === "function" && typeof unsafe === "function" && ("begin" in connection || "savepoint" in connection);
}

/** Whether transactions can be begun on it. One that is begun has savepoints. */
export function isPool(sql: PostgresJs | PostgresJsPool): sql is PostgresJsPool {
  return "begin" in sql && typeof sql.begin === "function" && !("savepoint" in sql);
}

/** An identifier in double quotes. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
