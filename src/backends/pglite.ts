/**
 * PGlite: Postgres inside this process, with one connection.
 *
 * @module
 */

import { ISOLATION, type PostgresConnection, type PostgresSession } from "./postgres_connection.ts";
import type { QueryConnection } from "./query_connection.ts";
import { hasMethods } from "./shape.ts";

interface PGlite extends Transaction {
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
}

interface Transaction {
  query(text: string, params: readonly (string | null)[], options: object): Promise<{ rows: unknown[][] }>;
  exec(text: string): Promise<unknown>;
}

// `text` as the server has it, whatever parsers and serializers the caller has put in their place.
const TEXT = 25;
const UNPARSED = {
  rowMode: "array",
  parsers: { [TEXT]: (text: string) => text },
  serializers: { [TEXT]: (text: string) => text },
};

/** Whether this is a PGlite, by its shape. */
export function isPGlite(connection: unknown): connection is QueryConnection {
  return hasMethods(connection, "query", "exec", "transaction");
}

/** Whether this is what `db.transaction` gives its callback. */
export function isPGliteTransaction(connection: unknown): connection is QueryConnection {
  return hasMethods(connection, "query", "exec", "rollback") && !isPGlite(connection);
}

/** A PGlite for the backend. */
export function pglite(connection: QueryConnection): PostgresConnection {
  const db = connection as unknown as PGlite;
  return {
    ...session(db),
    of: db,
    begin: (work) =>
      db.transaction(async (transaction) => {
        await transaction.exec(`set transaction ${ISOLATION}`);
        return await work(session(transaction));
      }),
  };
}

/** A transaction of PGlite's for the backend. */
export function pgliteTransaction(transaction: QueryConnection): PostgresConnection {
  return { ...session(transaction as unknown as Transaction), of: transaction, begin: null };
}

function session(db: Transaction): PostgresSession {
  return {
    // It has no prepared statements that outlive a call.
    query: async (text, params) => (await db.query(text, params, UNPARSED)).rows,
    script: async (text) => void await db.exec(text),
  };
}
