import process from "node:process";
import type { Connection, Payloads, Queue, QueueOptions } from "../../mod.ts";
import { open } from "./connections/open.ts";
import { runtimeName } from "./connections/runtime_name.ts";
import { type ConnectionEntry, connections } from "./connections/table.ts";

/** A kind of database behind a driver of its own, that the conformance suite runs on. The name begins that of every suite. */
export interface BackendUnderTest extends Pick<ConnectionEntry, "name" | "dialect" | "inTransaction" | "dropsByteOrderMark"> {
  /** A database or schema that is new and empty, or has empty tables already; closed when the test ends. */
  open(options?: { migrated?: boolean }): Promise<Opened>;
}

/** Opens a driver. Only where making the tables takes time they can be there already. */
export type Open = (migrated: boolean) => Promise<Opened>;

/** Tables of its own for one test, once they are migrated. */
export interface Opened {
  readonly dialect: "postgres" | "sqlite";
  readonly connection: Connection;
  /** The url of the server or the path of the file; null in memory. */
  readonly address: string | null;
  /** The schema of the tables; undefined on SQLite. */
  readonly schema: string | undefined;
  queue<P extends Payloads = Payloads>(options?: QueueOptions): Queue<P>;
  /** Runs any SQL that both dialects read; rows as plain objects, numbers as numbers, bigints as strings or numbers. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** Moves every time of an attempt into the past, as if so many milliseconds went by. */
  age(attemptId: string, ms: number): Promise<void>;
  /** Runs `work` in a transaction of the caller's, which is rolled back when it throws. */
  transaction<T>(work: (transaction: Connection) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * What the suite runs on in this process: the connection that `SKIPLOCKED_CONNECTION` names, else those for every day.
 * Postgres needs `DATABASE_URL`, which `npm test` sets.
 */
export const backends: readonly BackendUnderTest[] = choose(process.env["SKIPLOCKED_CONNECTION"]);

/** The three that tests of processes, files and races run on, whatever the drivers. */
export const mainBackends: readonly BackendUnderTest[] = ["openSqlite", "better-sqlite3 12", "postgres.js"]
  .flatMap((name) => usable().filter((backend) => backend.name === name));

function choose(name: string | undefined): readonly BackendUnderTest[] {
  if (name === undefined) return usable().filter((backend) => backend.daily);
  const chosen = usable().filter((backend) => backend.name === name);
  if (chosen.length === 0) throw new Error(`There is no connection "${name}" under ${runtimeName()}`);
  return chosen;
}

function usable(): (BackendUnderTest & ConnectionEntry)[] {
  return connections
    .filter(({ runsOn, needsServer }) => runsOn(runtimeName()) && (!needsServer || process.env["DATABASE_URL"] !== undefined))
    .map((entry) => ({ ...entry, open: ({ migrated = false } = {}) => opener(entry.name)(migrated) }));
}

function opener(name: string): Open {
  const found = open[name];
  if (found === undefined) throw new Error(`Nothing in open.ts opens "${name}"`);
  return found;
}
