import process from "node:process";
import { type Connection, createQueue, type Queue } from "../../mod.ts";
import { openSqlite } from "../../src/sqlite.ts";
import { MAX_PICKUPS, STALE_AFTER_MS, type Work } from "./roles.ts";

/** Where the tables are. The url is not in here: arguments of a process are there for all to see. */
export type Place = { dialect: "sqlite"; file: string } | { dialect: "postgres"; schema: string };

export type Row = Record<string, unknown>;

export interface Database {
  queue: Queue<Work>;
  /** Runs a query as it is written, past the library. */
  select(sql: string): Promise<Row[]>;
  /** What stands before a table's name in such a query. */
  prefix: string;
  /** Removes everything that the demo made in the database. */
  drop(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the demo's own connection; every process has one. */
export function openDatabase(place: Place): Promise<Database> {
  return place.dialect === "sqlite" ? openFile(place.file) : openSchema(place.schema);
}

async function openFile(file: string): Promise<Database> {
  const db = await openSqlite(file);
  return {
    queue: demoQueue(db),
    select: (sql) => Promise.resolve(db.query(sql).all()),
    prefix: "",
    // The folder is removed with the file.
    drop: () => Promise.resolve(),
    close: () => Promise.resolve(db.close()),
  };
}

async function openSchema(schema: string): Promise<Database> {
  const { default: postgres } = await import("postgres");
  const sql = postgres(process.env.DATABASE_URL ?? "", { max: 2, connect_timeout: 10, onnotice: () => {} });
  return {
    queue: demoQueue(sql, schema),
    select: async (text) => [...await sql.unsafe(text)],
    prefix: `${schema}.`,
    drop: async () => void await sql.unsafe(`drop schema if exists ${schema} cascade`),
    close: () => sql.end({ timeout: 5 }),
  };
}

function demoQueue(connection: Connection, schema?: string): Queue<Work> {
  const options = { maxPickups: MAX_PICKUPS, staleAfterMs: STALE_AFTER_MS };
  return createQueue<Work>(connection, schema === undefined ? options : { ...options, schema });
}
