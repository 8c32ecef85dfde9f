/**
 * postgres.js and Bun.SQL, which has its shape.
 *
 * @module
 */

import { ISOLATION, type PostgresConnection, type PostgresSession } from "./postgres_connection.ts";
import { hasMethods } from "./shape.ts";

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
  raw(): PromiseLike<readonly Record<string, Uint8Array | null>[]>;
}

/** Whether it runs SQL as postgres.js does: a pool, a transaction or a reserved connection. Bun.SQL drives other databases too. */
export function isPostgresJs(connection: unknown): connection is PostgresJs {
  const { options } = (connection ?? {}) as { options?: { adapter?: unknown } };
  return typeof connection === "function" && hasMethods(connection, "unsafe") &&
    [undefined, "postgres"].includes(options?.adapter as string | undefined);
}

/** Whether transactions can be begun on it. One that is begun has savepoints; Bun's reserved connection can begin them too. */
export function isPostgresJsPool(sql: PostgresJs): sql is PostgresJsPool {
  return hasMethods(sql, "begin") && !("savepoint" in sql) && !isReserved(sql);
}

/** Whether it is a reserved connection, which cannot tell whether a transaction is open on it. */
export function isReserved(sql: PostgresJs): boolean {
  return "release" in sql;
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

// The server's own errors have a severity, and may have any SQLSTATE: a trigger can raise EPERM.
function isLost(error: unknown): boolean {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return severity === undefined && LOST.test(String(code));
}

function begin<T>(pool: PostgresJsPool, work: (inside: PostgresSession) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const inside = async (transaction: PostgresJs) => {
      try {
        return await work(session(transaction));
      } catch (error) {
        if (!isLost(error)) throw error;
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
      // Raw: parsers and transforms of values change nothing. One of rows gets them like this, and may leave out nulls or add something.
      return (await pending.raw()).map((row) => {
        const cells: unknown[] = [];
        for (const [place, cell] of Object.entries(row)) if (/^\d+$/.test(place)) cells[Number(place)] = cell && decoder.decode(cell);
        return cells;
      });
    },
    script: async (text) => void await sql.unsafe(text),
  };
}

// A byte order mark is a character of the text like any other.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
