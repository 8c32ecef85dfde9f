import process from "node:process";
import { createQueue } from "../../../mod.ts";
import type { PostgresJs, PostgresJsPool } from "../../../mod.ts";
import { heldOpen } from "./held_open.ts";
import type { Open, Opened } from "./opened.ts";
import { onSchema, once } from "./schema.ts";

interface BunSql extends PostgresJsPool {
  begin<T>(work: (transaction: BunTransaction) => Promise<T>): Promise<T>;
  begin<T>(options: string, work: (transaction: PostgresJs) => Promise<T>): Promise<T>;
  end(): Promise<void>;
}

interface BunTransaction extends PostgresJs {
  savepoint<T>(work: (savepoint: PostgresJs) => Promise<T>): Promise<T>;
}

export function bunSql(options: object): Open {
  const pool = once(() => open(String(process.env["DATABASE_URL"]), options), (sql) => sql.end());
  return (migrated) => onSchema(migrated, () => {
    const sql = pool();
    return Promise.resolve({ connection: sql, transaction: (work) => sql.begin((transaction) => work(transaction)), end: () => Promise.resolve() });
  });
}

/** Everything happens in one transaction of the caller's, which ends with the test. */
export function bunSqlTransaction(migrated: boolean): Promise<Opened> {
  return onSchema(migrated, async ({ url, name }) => {
    const sql = open(url, { max: 1 });
    const { transaction, end } = await heldOpen<BunTransaction>((work) => sql.begin(work));
    await transaction.unsafe(`set local search_path = "${name}"`);
    return {
      connection: transaction,
      queue: (options) => createQueue(transaction, { schema: name, ...options }),
      sql: async (text) => [...await transaction.unsafe(text)] as Record<string, unknown>[],
      transaction: (work) => transaction.savepoint((inside) => work(inside)),
      end: async () => {
        await end();
        await sql.end();
      },
    };
  });
}

function open(url: string, options: object): BunSql {
  const { SQL } = (globalThis as unknown as { Bun: { SQL: new (url: string, options: object) => BunSql } }).Bun;
  return new SQL(url, { max: 4, ...options });
}
