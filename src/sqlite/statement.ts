import { bind } from "./bindings.ts";
import type { ChangeCounter } from "./changes.ts";
import type { DriverBindings, DriverStatement } from "./driver.ts";
import { parametersOf } from "./scan.ts";
import type { Changes, SQLiteValue, Statement } from "./types.ts";

/** A bun:sqlite statement over any driver. */
export class ShimStatement<Row, Params extends unknown[]> implements Statement<Row, Params> {
  readonly #native: DriverStatement;
  readonly #parameters: readonly (string | null)[];
  readonly #countChanges: ChangeCounter;
  #safeIntegers: boolean;
  #finalized = false;

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
    return (this.#open().get(this.#bind(params)) ?? null) as Row | null;
  }

  all(...params: Params): Row[] {
    return this.#open().all(this.#bind(params)) as Row[];
  }

  values(...params: Params): SQLiteValue[][] {
    return this.#open().values(this.#bind(params)) as SQLiteValue[][];
  }

  run(...params: Params): Changes {
    const native = this.#open();
    const bindings = this.#bind(params);
    return this.#countChanges(() => native.run(bindings), this.#safeIntegers);
  }

  *iterate(...params: Params): IterableIterator<Row> {
    yield* this.#open().iterate(this.#bind(params)) as Iterable<Row>;
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

  toString(): string {
    return this.#native.source;
  }

  #bind(params: Params): DriverBindings {
    return bind(this.#parameters, params);
  }

  #open(): DriverStatement {
    if (this.#finalized) throw new Error("Statement has finalized");
    return this.#native;
  }
}
