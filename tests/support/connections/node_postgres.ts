import process from "node:process";
import type { Client, ClientBase, PoolConfig } from "pg";
import { createQueue } from "../../../mod.ts";
import type { Open, Opened } from "./opened.ts";
import { onSchema, once, tell } from "./schema.ts";

export function nodePostgresPool(options: PoolConfig): Open {
  const shared = once(async () => {
    const { default: pg } = await import("pg");
    return new pg.Pool({ connectionString: String(process.env["DATABASE_URL"]), max: 4, ...options });
  }, (pool) => pool.end());
  return (migrated) => onSchema(migrated, async () => {
    const pool = await shared();
    return {
      connection: pool,
      transaction: async (work) => {
        const client = await pool.connect();
        try {
          return await inTransaction(client, () => work(client));
        } finally {
          client.release();
        }
      },
      end: () => Promise.resolve(),
    };
  });
}

export function nodePostgresClient(migrated: boolean): Promise<Opened> {
  return onSchema(migrated, async () => {
    const client = await oneClient();
    return { connection: client, transaction: (work) => inTransaction(client, () => work(client)), end: () => Promise.resolve() };
  });
}

const oneClient = once(() => connect(String(process.env["DATABASE_URL"])), (client) => client.end());

/** Everything happens in one transaction of the caller's, which ends with the test. */
export function clientTransaction(migrated: boolean): Promise<Opened> {
  return onSchema(migrated, async ({ url, name }) => {
    const client = await connect(url);
    await client.query(`begin; set local search_path = "${name}"`);
    return {
      connection: client,
      queue: (options) => createQueue(client, { schema: name, ...options }).using(client) as ReturnType<Opened["queue"]> as never,
      sql: async (text) => {
        const result = await client.query(text) as unknown as { rows: Record<string, unknown>[] } | { rows: Record<string, unknown>[] }[];
        return Array.isArray(result) ? result.flatMap(({ rows }) => rows) : result.rows;
      },
      transaction: (work) => inSavepoint(client, () => work(client)),
      end: async () => {
        await client.query("rollback");
        await client.end();
      },
    };
  });
}

async function connect(url: string): Promise<Client> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  client.on("notice", tell);
  await client.connect();
  return client;
}

async function inTransaction<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query("begin");
  try {
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

async function inSavepoint<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query("savepoint test");
  try {
    const result = await work();
    await client.query("release test");
    return result;
  } catch (error) {
    await client.query("rollback to test");
    throw error;
  }
}
