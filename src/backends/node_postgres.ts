/**
 * node-postgres and what has its shape: Pool, Client, a client of a pool, Neon's.
 *
 * @module
 */

import { exclusive } from "./exclusive.ts";
import { type Begin, ISOLATION, type PostgresConnection, type PostgresSession } from "./postgres_connection.ts";
import type { QueryConnection } from "./query_connection.ts";
import { hasMethods } from "./shape.ts";

interface Client {
  query(query: string | QueryConfig): PromiseLike<{ rows: unknown[][] }>;
  /** Since pg 8.17: "I" outside of a transaction, "T" in one, "E" in one that failed. */
  getTransactionStatus?(): string | null;
  on(event: "error" | "notice", listener: (message: { code?: string }) => void): unknown;
  removeListener(event: "error" | "notice", listener: (message: { code?: string }) => void): unknown;
}

interface PoolClient extends Client {
  release(destroy?: boolean): void;
}

interface Pool extends Pick<Client, "query"> {
  connect(): Promise<PoolClient>;
}

interface QueryConfig {
  text: string;
  query_timeout?: number;
  values?: readonly (string | null)[];
  rowMode?: "array";
  types?: { getTypeParser(): (cell: unknown) => string };
}

// What setTimeout takes at the most, in milliseconds.
const FOR_EVER = 2 ** 31 - 1;

// active_sql_transaction.
const ACTIVE_TRANSACTION = "25001";

// The caller may have replaced parsers, for the whole process; with `binary: true` a cell is a Buffer.
const UNPARSED = { getTypeParser: () => (cell: unknown) => String(cell) };

/** Whether this is a pool or a client. What else has `query` and `connect` speaks to MySQL or SQL Server. */
export function isNodePostgres(connection: unknown): connection is QueryConnection {
  return hasMethods(connection, "query", "connect") && (isNodePostgresPool(connection) || hasMethods(connection, "escapeIdentifier"));
}

/** Whether it hands out clients. Not by `in`: the pool of Vercel is a Proxy. A client of a pool has a `connect` as well. */
export function isNodePostgresPool(connection: unknown): boolean {
  return hasMethods(connection, "query", "connect") && typeof (connection as { totalCount?: unknown }).totalCount === "number";
}

/** A pool or a client for the backend. */
export function nodePostgres(connection: QueryConnection): PostgresConnection {
  return isNodePostgresPool(connection) ? onPool(connection as unknown as Pool) : onClient(connection as unknown as Client);
}

function onPool(pool: Pool): PostgresConnection {
  return { ...session(pool), of: pool, begin };

  async function begin<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    // A lost connection rejects its query. That nobody listens for it as well would end the process.
    const ignore = () => {};
    client.on("error", ignore);
    let usable = true;
    try {
      return await inTransaction(client, work, () => usable = false);
    } finally {
      client.removeListener("error", ignore);
      client.release(!usable);
    }
  }
}

// One connection: what this library sends at the same moment would get into each other's transactions.
const exclusively = exclusive(Symbol.for("skiplocked: one client, one call"));

function onClient(client: Client): PostgresConnection {
  const alone = session(client);
  // Not by the status afterwards: an error comes before the status that it makes.
  const failedInTheirs = new WeakSet<object>();
  const begin: Begin = (work) => one((joined) => joined ? work(alone) : inTransaction(client, work, () => {}));
  return {
    query: (...statement) => one(() => alone.query(...statement)),
    script: (text) => one(() => alone.script(text)),
    of: client,
    begin,
    isFinal: (error) => failedInTheirs.has(error as object),
  };

  function one<T>(work: (joined: boolean) => Promise<T>): Promise<T> {
    return exclusively(client, async () => {
      const joined = isTransactionOpen(client);
      try {
        return await work(joined);
      } catch (error) {
        if (joined) failedInTheirs.add(error as object);
        throw error;
      }
    });
  }
}

// The caller began one without telling: it is joined, where the driver knows.
function isTransactionOpen(client: Client): boolean {
  return ["T", "E"].includes(client.getTransactionStatus?.() ?? "");
}

async function inTransaction<T>(client: Client, work: (session: PostgresSession) => Promise<T>, giveUp: () => void): Promise<T> {
  let answer: "begun" | "joined" = "begun";
  try {
    // Older versions do not know, and none does before the answer to the caller's "begin" is there: then ours is answered
    // with a warning, and the transaction stays the caller's.
    answer = await begin(client);
    const result = await work(session(client));
    if (answer === "begun") await client.query("commit");
    return result;
  } catch (error) {
    // Also if it was "begin" that failed.
    if (answer === "begun") await rollBack(client, error).catch(giveUp);
    throw error;
  }
}

// Where that fails the connection is lost and the server does it; the first error says more.
async function rollBack(client: Client, error: unknown): Promise<void> {
  const done = Promise.resolve(client.query({ text: "rollback", query_timeout: FOR_EVER }));
  if ((error as Error).message !== "Query read timeout") return void await done;
  // What the client gave up waiting for is still under way. The rollback goes behind it; a pool can do without the client.
  done.catch(() => {});
  throw error;
}

async function begin(client: Client): Promise<"begun" | "joined"> {
  let answer: "begun" | "joined" = "begun";
  const listen = ({ code }: { code?: string }) => void (code === ACTIVE_TRANSACTION && (answer = "joined"));
  client.on("notice", listen);
  try {
    await client.query(`begin ${ISOLATION}`);
    return answer;
  } finally {
    client.removeListener("notice", listen);
  }
}

function session(client: Pick<Client, "query">): PostgresSession {
  return {
    // Never prepared: pg has no setting by which the caller could say that a pooler is in between.
    query: async (text, values) => (await client.query({ text, values, rowMode: "array", types: UNPARSED })).rows,
    script: async (text) => void await client.query(text),
  };
}
