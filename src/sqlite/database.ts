import { bind } from "./bindings.ts";
import { type ChangeCounter, changeCounter } from "./changes.ts";
import type { Driver } from "./driver.ts";
import { parametersOf } from "./scan.ts";
import { ShimStatement } from "./statement.ts";
import { transaction } from "./transaction.ts";
import type { Changes, Database, ParamsOf, SQLiteParam, SQLiteRow, Statement, Transaction } from "./types.ts";

// What bun:sqlite keeps as well.
const MAX_CACHED_QUERIES = 20;

/** A bun:sqlite database over any driver. */
export class ShimDatabase implements Database {
  readonly filename: string;
  readonly #driver: Driver;
  readonly #countChanges: ChangeCounter;
  readonly #safeIntegers: boolean;
  /** Least recently used first. */
  readonly #cache = new Map<string, ShimStatement<unknown, unknown[]>>();

  constructor(driver: Driver, filename: string, safeIntegers: boolean) {
    this.filename = filename;
    this.#driver = driver;
    this.#countChanges = changeCounter(driver);
    this.#safeIntegers = safeIntegers;
  }

  get inTransaction(): boolean {
    return this.#driver.inTransaction;
  }

  query<Row = SQLiteRow, Params extends SQLiteParam | SQLiteParam[] = SQLiteParam[]>(
    sql: string,
  ): Statement<Row, ParamsOf<Params>> {
    let statement = this.#cache.get(sql);
    if (statement === undefined || statement.isFinalized) statement = this.#compile(sql);
    this.#cache.delete(sql);
    this.#cache.set(sql, statement);
    if (this.#cache.size > MAX_CACHED_QUERIES) this.#dropOldest();
    return statement as Statement<unknown, unknown[]> as Statement<Row, ParamsOf<Params>>;
  }

  prepare<Row = SQLiteRow, Params extends SQLiteParam | SQLiteParam[] = SQLiteParam[]>(
    sql: string,
  ): Statement<Row, ParamsOf<Params>> {
    return this.#compile(sql) as Statement<unknown, unknown[]> as Statement<Row, ParamsOf<Params>>;
  }

  run(sql: string, ...bindings: unknown[]): Changes {
    return this.#countChanges(
      bindings.length === 0 ? () => this.#driver.exec(sql) : () => this.#runBound(sql, bindings),
      this.#safeIntegers,
    );
  }

  exec(sql: string, ...bindings: unknown[]): Changes {
    return this.run(sql, ...bindings);
  }

  transaction<Args extends unknown[], Result>(fn: (...args: Args) => Result): Transaction<Args, Result> {
    return transaction(this.#driver, fn);
  }

  close(throwOnError = false): void {
    this.#cache.clear();
    try {
      this.#driver.close();
    } catch (error) {
      if (throwOnError) throw error;
    }
  }

  [Symbol.dispose](): void {
    this.close(true);
  }

  #compile(sql: string): ShimStatement<unknown, unknown[]> {
    return new ShimStatement(this.#driver.prepare(sql), this.#countChanges, this.#safeIntegers);
  }

  /** As in bun:sqlite, the first statement gets the bindings, and the others run without. */
  #runBound(sql: string, bindings: unknown[]): void {
    const first = this.#driver.prepare(sql);
    first.run(bind(parametersOf(first.source), bindings));
    this.#driver.exec(sql.slice(first.source.length));
  }

  /** Without finalizing: whoever holds the statement may go on using it. */
  #dropOldest(): void {
    for (const sql of this.#cache.keys()) {
      this.#cache.delete(sql);
      return;
    }
  }
}
