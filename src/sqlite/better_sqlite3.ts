/**
 * better-sqlite3 as a {@linkcode Driver}.
 *
 * @module
 */

import { SkiplockedError } from "../errors.ts";
import { ShimDatabase } from "./database.ts";
import type { Binding, Connect, Driver, DriverStatement, DriverValue } from "./driver.ts";
import { isIncomplete, sqliteError, toSqliteError } from "./errors.ts";
import { statementEnds } from "./scan.ts";

/** The subset of better-sqlite3 that is used. Its own types are not, so that nobody needs them to compile. */
interface NativeConstructor {
  new (path: string, options?: NativeOptions): NativeDatabase;
}

interface NativeOptions {
  readonly readonly?: boolean;
  readonly fileMustExist?: boolean;
  readonly timeout?: number;
}

interface NativeDatabase {
  readonly inTransaction: boolean;
  prepare(sql: string): NativeStatement;
  close(): unknown;
}

interface NativeStatement {
  readonly source: string;
  readonly reader: boolean;
  columns(): { name: string }[];
  safeIntegers(enabled: boolean): unknown;
  raw(enabled: boolean): unknown;
  run(...params: unknown[]): unknown;
  get(...params: unknown[]): unknown;
  all(...params: unknown[]): unknown[];
  iterate(...params: unknown[]): Iterable<unknown>;
}

/**
 * Loads better-sqlite3 with its native add-on.
 *
 * @param specifier Where it is. No literal in the `import`, so that bundlers and JSR do not follow an optional package.
 * @returns How to open a database with it.
 * @throws {SkiplockedError} `driver_missing` if the package or its add-on does not load.
 */
export async function loadBetterSqlite3(specifier = "better-sqlite3"): Promise<Connect> {
  const Native = await importNative(specifier);
  return (path, { readonly, create, safeIntegers }) => {
    const native = open(Native, path, { readonly, fileMustExist: !create, timeout: 0 });
    return new ShimDatabase(adaptDatabase(native), path, safeIntegers);
  };
}

async function importNative(specifier: string): Promise<NativeConstructor> {
  try {
    const Native: NativeConstructor = (await import(specifier)).default;
    // The add-on is loaded by the first database, so that one is needed to know.
    new Native(":memory:").close();
    return Native;
  } catch (cause) {
    throw new SkiplockedError(
      "driver_missing",
      'Cannot load "better-sqlite3", which drives SQLite on this runtime: run `npm install better-sqlite3@12`' +
        ' (and `npm rebuild better-sqlite3` after a change of Node version); see "cause"',
      { cause },
    );
  }
}

function open(Native: NativeConstructor, path: string, options: NativeOptions): NativeDatabase {
  try {
    return new Native(path, options);
  } catch (error) {
    // For a folder that does not exist it asks the file system and not SQLite.
    throw error instanceof TypeError ? sqliteError(new Error(error.message), "SQLITE_CANTOPEN", 14) : toSqliteError(error);
  }
}

function adaptDatabase(native: NativeDatabase): Driver {
  return {
    get inTransaction() {
      return native.inTransaction;
    },
    prepare: (sql) => adaptStatement(prepareFirst(native, sql)),
    close: () => void native.close(),
  };
}

/** better-sqlite3 refuses text with more than one statement, so the end of the first one must be found. */
function prepareFirst(native: NativeDatabase, sql: string): NativeStatement {
  let refusal: unknown;
  for (const end of [sql.length, ...statementEnds(sql)]) {
    try {
      return native.prepare(sql.slice(0, end));
    } catch (error) {
      if (!isWrongEnd(error)) throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}

function isWrongEnd(error: unknown): boolean {
  return (error as Error).name === "RangeError" || isIncomplete(error);
}

function adaptStatement(native: NativeStatement): DriverStatement {
  const { reader } = native;
  const all = (bindings: readonly Binding[]): unknown[] => {
    if (reader) return native.all(...args(bindings)).map(plainBlobs);
    native.run(...args(bindings));
    return [];
  };
  return {
    source: native.source,
    get columnNames() {
      return reader ? native.columns().map((column) => column.name) : [];
    },
    safeIntegers(enabled) {
      if (reader) native.safeIntegers(enabled);
    },
    run: (bindings) => void all(bindings),
    get: (bindings) => reader ? plainBlobs(native.get(...args(bindings))) : all(bindings)[0],
    all,
    values(bindings) {
      if (!reader) return all(bindings) as unknown[][];
      native.raw(true);
      try {
        return all(bindings) as unknown[][];
      } finally {
        native.raw(false);
      }
    },
    *iterate(bindings) {
      if (!reader) return void all(bindings);
      for (const row of native.iterate(...args(bindings))) yield plainBlobs(row);
    },
  };
}

/** Those without a name by place, all others by name without the prefix: `:a` is `a`, `?1` is `1`. */
function args(bindings: readonly Binding[]): unknown[] {
  const anonymous: DriverValue[] = [];
  const named = new Map<string, DriverValue>();
  for (const { name, value } of bindings) {
    if (name === null) anonymous.push(value);
    else addNamed(named, name, value);
  }
  return named.size === 0 ? anonymous : [...anonymous, Object.fromEntries(named)];
}

function addNamed(named: Map<string, DriverValue>, name: string, value: DriverValue): void {
  const key = name.slice(1);
  if (named.has(key) && named.get(key) !== value) {
    throw new RangeError(`Cannot bind "${name}": another parameter is called "${key}" and has another value`);
  }
  named.set(key, value);
}

/** Blobs come as Buffer, which is no plain Uint8Array to a strict comparison and prints differently. */
function plainBlobs<Row>(row: Row): Row {
  const cells = row as Record<string, unknown>;
  for (const key in cells) {
    const cell = cells[key];
    if (cell instanceof Uint8Array) cells[key] = new Uint8Array(cell.buffer, cell.byteOffset, cell.byteLength);
  }
  return row;
}
