/**
 * postgres.js and Bun.SQL, which has its shape.
 *
 * @module
 */

import { ISOLATION, type PostgresConnection, type PostgresSession } from "./postgres_connection.ts";

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

/** A query that has not run yet. */
interface Pending extends PromiseLike<readonly unknown[]> {
  raw(): PromiseLike<readonly (Uint8Array | null)[][]>;
}

/**
 * Whether this is a pool or a transaction of postgres.js, by its shape: two copies of a package have two classes. A reserved
 * connection is neither: it cannot tell whether a transaction is open on it. Bun.SQL drives other databases as well.
 */
export function isPostgresJs(connection: unknown): connection is PostgresJs {
  const { unsafe, options } = (connection ?? {}) as Partial<PostgresJs> & { options?: { adapter?: unknown } };
  return typeof connection === "function" && typeof unsafe === "function" && ("begin" in connection || "savepoint" in connection) &&
    [undefined, "postgres"].includes(options?.adapter as string | undefined);
}

/** Whether transactions can be begun on it. One that is begun has savepoints. */
export function isPostgresJsPool(sql: PostgresJs): sql is PostgresJsPool {
  return "begin" in sql && typeof sql.begin === "function" && !("savepoint" in sql);
}

/** A pool or transaction for the backend. */
export function postgresJs(sql: PostgresJs): PostgresConnection {
  const pool = isPostgresJsPool(sql) ? sql : null;
  return {
    ...session(sql),
    of: sql,
    begin: pool && ((work) => begin(pool, work)),
  };
}

// What postgres.js says when the connection is gone, and what its socket says.
const LOST = /^(CONNECTION_(CLOSED|DESTROYED|ENDED)|E[A-Z]{4,})$/;

function begin<T>(pool: PostgresJsPool, work: (inside: PostgresSession) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const inside = async (transaction: PostgresJs) => {
      try {
        return await work(session(transaction));
      } catch (error) {
        if (!LOST.test(String((error as { code?: unknown }).code))) throw error;
        // Told so, postgres.js 3.4 would send "rollback" to a socket that is no more, which ends the process: it is never told.
        reject(error);
        return await new Promise<never>(() => {});
      }
    };
    pool.begin(ISOLATION, inside).then((result) => resolve(result as T), reject);
  });
}

function session(sql: PostgresJs): PostgresSession {
  return {
    async query(text, params, prepare) {
      const pending = sql.unsafe(text, [...params], { prepare }) as Pending;
      // Raw: parsers and transforms of the caller's change nothing.
      return (await pending.raw()).map((row) => Object.values(row).map((cell) => cell && decoder.decode(cell)));
    },
    script: async (text) => void await sql.unsafe(text),
  };
}

// A byte order mark is a character of the text like any other.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
