import type { PGlite, Transaction } from "@electric-sql/pglite";
import { createQueue } from "../../../mod.ts";
import { heldOpen } from "./held_open.ts";
import type { Open, Opened } from "./opened.ts";
import { opened } from "./schema.ts";
import { schemaPool, type SchemaPool } from "./schema_pool.ts";

// One for all tests of this process: it takes seconds to begin.
let shared: Promise<PGlite> | undefined;

// A transaction keeps everybody else out of the database, so the one before has to end first.
let endLast: () => Promise<void> = () => Promise.resolve();

export function pglite(options: object): Open {
  return async (migrated) => {
    const db = await open(options);
    const name = await schemas(db).take(migrated);
    return opened(
      { connection: db, transaction: (work) => db.transaction((transaction) => work(transaction)), end: async () => {} },
      { name, url: null, sql: look(db, name) },
      () => schemas(db).give(name, migrated),
    );
  };
}

/** Everything happens in one transaction of the caller's, which ends with the test. */
export async function pgliteTransaction(migrated: boolean): Promise<Opened> {
  await endLast();
  const db = await open({});
  const name = await schemas(db).take(migrated);
  const { transaction, end } = await heldOpen<Transaction>((work) => db.transaction(work));
  const it = opened(
    {
      connection: transaction,
      queue: (options) => createQueue(transaction, { schema: name, ...options }),
      transaction: async (work) => {
        await transaction.exec("savepoint test");
        try {
          const result = await work(transaction);
          await transaction.exec("release test");
          return result;
        } catch (error) {
          await transaction.exec("rollback to test");
          throw error;
        }
      },
      end: async () => {},
    },
    { name, url: null, sql: look(transaction, name) },
    async () => {
      await end();
      await schemas(db).give(name, migrated);
    },
  );
  endLast = it.close;
  return it;
}

async function open(options: object): Promise<PGlite> {
  shared ??= import("@electric-sql/pglite").then(({ PGlite }) => PGlite.create(options));
  return await shared;
}

let known: SchemaPool | undefined;

function schemas(db: PGlite): SchemaPool {
  return known ??= schemaPool(async (text) => (await db.exec(text, PLAIN)).at(-1)?.rows as object[], (schema) => createQueue(db, { schema }).migrate());
}

// The eyes of the test are not what is tested: they read with PGlite's own parsers.
const PLAIN = { parsers: { 25: (text: string) => text, 23: Number } };

function look(db: PGlite | Transaction, name: string): Opened["sql"] {
  return async (statement) => {
    await db.exec(`set search_path = "${name}"`);
    const results = await db.exec(statement, PLAIN);
    return results.flatMap(({ rows }) => rows as Record<string, unknown>[]);
  };
}
