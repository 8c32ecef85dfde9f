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
  /** Compiles the first statement of the text and ignores what follows. */
  prepare(sql: string): DriverStatement;
  /** Runs every statement of the text. */
  exec(sql: string): void;
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
  run(bindings: DriverBindings): void;
  get(bindings: DriverBindings): unknown;
  all(bindings: DriverBindings): unknown[];
  values(bindings: DriverBindings): unknown[][];
  iterate(bindings: DriverBindings): Iterable<unknown>;
}

/** What every driver binds alike: a whole number is a bigint here, since some bind every `number` as REAL. */
export type DriverValue = string | number | bigint | ArrayBufferView | null;

export interface DriverBindings {
  /** Values of the parameters written `?`, in order. */
  readonly anonymous: readonly DriverValue[];
  /** Values of all others, without the prefix: `:a` is `a`, `?1` is `1`. Null when there are none. */
  readonly named: Readonly<Record<string, DriverValue>> | null;
}
