/**
 * The subset of a SQLite driver that the bun:sqlite shim stands on. A driver that is not bun:sqlite gets an adapter to
 * this shape and with it the whole API; bun:sqlite needs none, its `Database` is handed out as it is.
 *
 * @module
 */

import type { Database } from "./types.ts";

/** Opens a connection. Waits for no lock: `busy_timeout` is 0 until the caller sets it. */
export type Connect = (path: string, options: ConnectOptions) => Database;

export interface ConnectOptions {
  readonly readonly: boolean;
  readonly create: boolean;
  readonly safeIntegers: boolean;
}

export interface Driver {
  readonly inTransaction: boolean;
  /** Compiles the first statement of a text that has one, and ignores what follows. */
  prepare(sql: string): DriverStatement;
  /** Silent when already closed. */
  close(): void;
}

export interface DriverStatement {
  /** The text of the one statement that was compiled. */
  readonly source: string;
  /** Empty for a statement that returns no rows. */
  readonly columnNames: string[];
  /** Whether integers are read as bigint from now on. */
  safeIntegers(enabled: boolean): void;
  /** To its end, also when it returns rows: the last one may be the one that fails. */
  run(bindings: readonly Binding[]): void;
  get(bindings: readonly Binding[]): unknown;
  all(bindings: readonly Binding[]): unknown[];
  values(bindings: readonly Binding[]): unknown[][];
  iterate(bindings: readonly Binding[]): Iterable<unknown>;
}

/** A parameter and its value. Those of a statement come in the order in which SQLite numbers them, without a gap. */
export interface Binding {
  /** With its prefix; null for one that has no name. */
  readonly name: string | null;
  readonly value: DriverValue;
}

/** What every driver binds alike: a whole number is a bigint here, since some bind every `number` as REAL. */
export type DriverValue = string | number | bigint | Uint8Array | null;
