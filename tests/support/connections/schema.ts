import process from "node:process";
import { after } from "node:test";
import postgres from "postgres";
import { type Connection, createQueue } from "../../../mod.ts";
import { atEnd } from "../testing.ts";
import type { Opened } from "./opened.ts";
import { quoted, schemaPool } from "./schema_pool.ts";

const TIMES = ["locked_at", "lock_heartbeat_at", "started_at", "run_at", "created_at"];

/** How a driver takes part: its connection, a transaction on it, and its end. */
export interface Driven {
  connection: Connection;
  transaction: Opened["transaction"];
  end(): Promise<unknown>;
  /** Looks through the driver itself, where nobody else can see what it does. */
  sql?: Opened["sql"];
  /** The queue if it is not simply that of the connection. */
  queue?: Opened["queue"];
}

/** A database whose tests get a schema each, and the eyes with which they look at it. */
export interface Database {
  /** Its url, for who opens it. */
  readonly url: () => string;
  readonly take: (migrated: boolean) => Promise<string>;
  readonly give: (name: string, migrated: boolean) => Promise<void>;
  readonly look: (schema: string, text: string) => Promise<Record<string, unknown>[]>;
}

/** Opens a driver on a schema of its own, in the database of `DATABASE_URL` unless it is told another. */
export async function onSchema(
  migrated: boolean,
  drive: (schema: { name: string; url: string }) => Promise<Driven>,
  { url, take, give, look }: Database = daily,
): Promise<Opened> {
  const name = await take(migrated);
  const driven = await drive({ name, url: url() });
  return opened(driven, { name, url: url(), sql: driven.sql ?? ((text) => look(name, text)) }, async () => {
    await driven.end();
    await give(name, migrated);
  });
}

const ends: (() => unknown)[] = [];

// At the top of the file: inside a test it would be that test's end.
after(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Opens a connection once for all tests of this process: a new one for each takes longer than most tests. */
export function once<T>(open: () => T, close: (it: Awaited<T>) => unknown): () => T {
  let it: T | undefined;
  return () => {
    if (it === undefined) ends.push(async () => close(await (it as T)));
    return it ??= open();
  };
}

/**
 * @param url Asked for when it is needed.
 * @param names Gives the name of a new schema.
 */
export function database(url: () => string, names?: () => string): Database {
  const eyes = once(() => postgres(url(), { max: 2, onnotice: tell }), (sql) => sql.end({ timeout: 5 }));
  const run = async (text: string) => [...await eyes().unsafe(text)];
  return {
    url,
    look: async (schema, text) => [...(await eyes().unsafe(`set search_path = ${quoted(schema)}; ${text}`)).slice(1).flat()],
    ...schemaPool(run, (schema) => createQueue(eyes(), { schema }).migrate(), names),
  };
}

const daily = database(() => String(process.env["DATABASE_URL"]));

/** What a test gets of a driver on a schema. */
export function opened(driven: Driven, { name, url, sql }: { name: string; url: string | null; sql: Opened["sql"] }, close: () => Promise<void>): Opened {
  let closed: Promise<void> | undefined;
  const it: Opened = {
    dialect: "postgres",
    connection: driven.connection,
    address: url,
    schema: name,
    queue: driven.queue ?? ((options) => createQueue(driven.connection, { schema: name, ...options })),
    sql,
    age: async (attemptId, ms) => {
      const moved = TIMES.map((time) => `${time} = ${time} - ${ms} * interval '1 millisecond'`);
      await sql(`update workflow_attempts set ${moved.join(", ")} where attempt_id = ${attemptId}`);
    },
    transaction: driven.transaction,
    close: () => closed ??= close(),
  };
  atEnd(it.close);
  return it;
}

/** For drivers that say notices: a queue has nothing to say. */
export function tell(notice: { message?: string | undefined }): void {
  console.error("NOTICE", notice.message);
}
