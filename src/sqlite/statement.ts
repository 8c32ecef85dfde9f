import { bind } from "./bindings.ts";
import type { ChangeCounter } from "./changes.ts";
import type { Binding, DriverStatement } from "./driver.ts";
import { toSqliteError, withSqliteErrors } from "./errors.ts";
import { parametersOf } from "./scan.ts";
import type { Statement } from "./types.ts";
import type { Changes, SQLiteValue } from "./values.ts";

/** A bun:sqlite statement over any driver. */
export class ShimStatement<Row, Params extends unknown[]> implements Statement<Row, Params> {
  readonly #native: DriverStatement;
  readonly #parameters: readonly (string | null)[];
  readonly #countChanges: ChangeCounter;
  #safeIntegers: boolean;
  #finalized = false;
  /** How often it was started, for an iterator to know that it is not the last one. */
  #runs = 0;

  constructor(native: DriverStatement, countChanges: ChangeCounter, safeIntegers: boolean) {
    this.#native = native;
    this.#parameters = parametersOf(native.source);
    this.#countChanges = countChanges;
    this.#safeIntegers = safeIntegers;
    native.safeIntegers(safeIntegers);
  }

  get columnNames(): string[] {
    return this.#open().columnNames;
  }

  get paramsCount(): number {
    return this.#parameters.length;
  }

  get isFinalized(): boolean {
    return this.#finalized;
  }

  get(...params: Params): Row | null {
    return withSqliteErrors(() => this.#start().get(this.#bind(params)) ?? null) as Row | null;
  }

  all(...params: Params): Row[] {
    return withSqliteErrors(() => this.#start().all(this.#bind(params))) as Row[];
  }

  values(...params: Params): SQLiteValue[][] {
    return withSqliteErrors(() => this.#start().values(this.#bind(params))) as SQLiteValue[][];
  }

  run(...params: Params): Changes {
    const native = this.#start();
    const bindings = this.#bind(params);
    return withSqliteErrors(() => this.#countChanges([() => native.run(bindings)], this.#safeIntegers));
  }

  *iterate(...params: Params): IterableIterator<Row> {
    try {
      const rows = this.#start().iterate(this.#bind(params)) as Iterable<Row>;
      const run = this.#runs;
      for (const row of rows) {
        yield row;
        this.#open();
        // Drivers differ: one goes on, another begins again.
        if (this.#runs !== run) throw new Error("Cannot read the next row: the statement was run again meanwhile");
      }
    } catch (error) {
      throw toSqliteError(error);
    }
  }

  [Symbol.iterator](): IterableIterator<Row> {
    return this.iterate(...([] as unknown[] as Params));
  }

  safeIntegers(): boolean;
  safeIntegers(enabled: boolean): this;
  safeIntegers(enabled?: boolean): boolean | this {
    if (enabled === undefined) return this.#safeIntegers;
    this.#open().safeIntegers(enabled);
    this.#safeIntegers = enabled;
    return this;
  }

  finalize(): void {
    this.#finalized = true;
  }

  [Symbol.dispose](): void {
    this.finalize();
  }

  toString(): string {
    return this.#native.source;
  }

  #bind(params: Params): Binding[] {
    return bind(this.#parameters, params);
  }

  #start(): DriverStatement {
    const native = this.#open();
    this.#runs++;
    return native;
  }

  #open(): DriverStatement {
    if (this.#finalized) throw new Error("Statement has finalized");
    return this.#native;
  }
}
