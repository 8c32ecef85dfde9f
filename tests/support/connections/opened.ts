import type { Connection, Payloads, Queue, QueueOptions } from "../../../mod.ts";
import type { ConnectionEntry } from "./table.ts";

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
