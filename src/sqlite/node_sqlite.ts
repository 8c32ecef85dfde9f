/**
 * `node:sqlite` as a {@linkcode Driver}: the SQLite that Node and Deno have built in.
 *
 * @module
 */

import process from "node:process";
import { ShimDatabase } from "./database.ts";
import type { Binding, Connect, Driver, DriverStatement, DriverValue } from "./driver.ts";
import { type NativeConstructor, type NativeDatabase, type NativeStatement, openNative } from "./node_sqlite_open.ts";

// Its `iterate` takes an error of SQLite's for the end of the rows.
const ITERATE_HIDES_ERRORS = process.versions["deno"] !== undefined;

/**
 * Finds `node:sqlite`. By its name at run time, so that no bundler sees it and takes `node:` away.
 *
 * @returns How to open a database with it; undefined on a runtime that does not have it, or not all that is needed.
 */
export function findNodeSqlite(): Connect | undefined {
  const Native = builtIn()?.DatabaseSync;
  if (Native === undefined) return undefined;
  const probe = new Native(":memory:");
  const isComplete = canTellTransactions(probe);
  const numbersByPlace = isComplete && takesNumbersByPlace(probe);
  probe.close();
  if (!isComplete) return undefined;
  return (path, { readonly, create, safeIntegers }) => {
    const native = openNative(Native, path, { readonly, create });
    return new ShimDatabase(adaptDatabase(native, numbersByPlace), path, safeIntegers);
  };
}

function builtIn(): { DatabaseSync: NativeConstructor } | undefined {
  const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown };
  return getBuiltinModule?.("node:sqlite") as { DatabaseSync: NativeConstructor } | undefined;
}

/** Came with Node 22.16, and is the last of what is used here. Only an instance shows it. */
function canTellTransactions(probe: NativeDatabase): boolean {
  return probe.isTransaction === false;
}

/** Whether a `?1` is bound by its place; 22.16 and 24.0 took it for a name. */
function takesNumbersByPlace(probe: NativeDatabase): boolean {
  try {
    return probe.prepare("select ?1").get({}, 1) !== undefined;
  } catch {
    return false;
  }
}

function adaptDatabase(native: NativeDatabase, numbersByPlace: boolean): Driver {
  return {
    get inTransaction() {
      return native.isOpen && native.isTransaction;
    },
    prepare: (sql) => adaptStatement(native.prepare(sql), numbersByPlace, () => native.isOpen),
    close() {
      if (native.isOpen) native.close();
    },
  };
}

function adaptStatement(native: NativeStatement, numbersByPlace: boolean, isOpen: () => boolean): DriverStatement {
  let bigints = false;
  // It refuses to read an INTEGER beyond 2^53 as a number, so all are read as bigint.
  native.setReadBigInts(true);
  native.setAllowBareNamedParameters(false);

  const args = (bindings: readonly Binding[]) => bindingsToArgs(bindings, numbersByPlace);
  const isReader = native.columns().length > 0;
  const toRow = (row: unknown) => readCells({ ...row as Record<string, unknown> }, bigints);
  const all = (bindings: readonly Binding[]) => native.all(...args(bindings)).map(toRow);
  return {
    source: native.sourceSQL,
    get columnNames() {
      return native.columns().map((column) => column.name);
    },
    safeIntegers(enabled) {
      bigints = enabled;
    },
    run(bindings) {
      // Its own `run` takes one step, and so misses the error of a later row.
      if (isReader) native.all(...args(bindings));
      else native.run(...args(bindings));
    },
    get(bindings) {
      const row = native.get(...args(bindings));
      return row === undefined ? undefined : toRow(row);
    },
    all,
    values(bindings) {
      native.setReturnArrays(true);
      try {
        return native.all(...args(bindings)).map((row) => readCells(row as unknown[], bigints));
      } finally {
        native.setReturnArrays(false);
      }
    },
    *iterate(bindings) {
      if (!ITERATE_HIDES_ERRORS) {
        for (const row of native.iterate(...args(bindings))) yield toRow(row);
        return;
      }
      for (const row of all(bindings)) {
        if (!isOpen()) throw new Error("Database has closed");
        yield row;
      }
    },
  };
}

/** What has no name by place, all others by name. */
function bindingsToArgs(bindings: readonly Binding[], numbersByPlace: boolean): unknown[] {
  const named: Record<string, DriverValue> = {};
  const byPlace: DriverValue[] = [];
  for (const { name, value } of bindings) {
    if (name === null || numbersByPlace && name.startsWith("?")) byPlace.push(value);
    else named[name] = value;
  }
  return [named, ...byPlace];
}

function readCells<Row extends object>(row: Row, bigints: boolean): Row {
  const cells = row as Record<string, unknown>;
  for (const key in cells) {
    const cell = cells[key];
    if (typeof cell === "bigint" && !bigints) cells[key] = Number(cell);
  }
  return row;
}
