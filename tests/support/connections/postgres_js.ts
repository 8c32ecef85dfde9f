import process from "node:process";
import postgres from "postgres";
import { createQueue } from "../../../mod.ts";
import { heldOpen } from "./held_open.ts";
import type { Open, Opened } from "./opened.ts";
import { onSchema, once, tell } from "./schema.ts";

type Options = Omit<postgres.Options<{}>, "transform"> & { transform?: unknown };

export function postgresJs(options: Options): Open {
  const pool = once(() => open(String(process.env["DATABASE_URL"]), options), (sql) => sql.end({ timeout: 5 }));
  return (migrated) => onSchema(migrated, () => {
    const sql = pool();
    return Promise.resolve({
      connection: sql,
      transaction: (work) => sql.begin((transaction) => work(transaction)) as Promise<never>,
      end: () => Promise.resolve(),
    });
  });
}

/** Everything happens in one transaction of the caller's, which ends with the test. */
export function postgresJsTransaction(migrated: boolean): Promise<Opened> {
  return onSchema(migrated, async ({ url, name }) => {
    const sql = open(url, { max: 1, connection: { search_path: `"${name}"` } });
    const { transaction, end } = await heldOpen<postgres.TransactionSql>((work) => sql.begin(work));
    return {
      connection: transaction,
      queue: (options) => createQueue(transaction, { schema: name, ...options }),
      sql: async (text) => [...await transaction.unsafe(text)],
      transaction: (work) => transaction.savepoint((inside) => work(inside)) as Promise<never>,
      end: async () => {
        await end();
        await sql.end({ timeout: 5 });
      },
    };
  });
}

function open(url: string, { transform, ...options }: Options): postgres.Sql {
  const transformed = transform === undefined ? {} : { transform: transform === "camel" ? postgres.camel : transform as typeof postgres.camel };
  return postgres(url, { max: 4, onnotice: tell, ...options, ...transformed });
}
