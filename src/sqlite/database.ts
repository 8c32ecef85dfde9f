import { bind } from "./bindings.ts";
import { type ChangeCounter, changeCounter } from "./changes.ts";
import type { Driver } from "./driver.ts";
import { withSqliteErrors } from "./errors.ts";
import { hasStatement, parametersOf } from "./scan.ts";
import { statementsOf, unbound } from "./script.ts";
import { ShimStatement } from "./statement.ts";
import { transaction } from "./transaction.ts";
import type { Database, Statement, Transaction } from "./types.ts";
import type { Changes, ParamsOf, SQLiteParam, SQLiteRow } from "./values.ts";

// What bun:sqlite keeps as well.
const MAX_CACHED_QUERIES = 20;

/** A bun:sqlite database over any driver. */
export class ShimDatabase implements Database {
  readonly filename: string;
  readonly #driver: Driver;
  readonly #countChanges: ChangeCounter;
  readonly #safeIntegers: boolean;
  #closed = false;
  /** Least recently used first. */
  readonly #cache = new Map<string, ShimStatement<unknown, unknown[]>>();

  constructor(driver: Driver, filename: string, safeIntegers: boolean) {
    this.filename = filename;
    this.#driver = driver;
    this.#countChanges = changeCounter(driver);
    this.#safeIntegers = safeIntegers;
  }

  get inTransaction(): boolean {
    if (this.#closed) throw new Error("Database has closed");
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
    refuseBlank(sql);
    return withSqliteErrors(() => this.#countChanges(this.#steps(sql, bindings), this.#safeIntegers));
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
      this.#closed = true;
    } catch (error) {
      if (throwOnError) throw error;
    }
  }

  [Symbol.dispose](): void {
    this.close(true);
  }

  #compile(sql: string): ShimStatement<unknown, unknown[]> {
    refuseBlank(sql);
    const statement = withSqliteErrors(() => this.#driver.prepare(sql));
    return new ShimStatement(statement, this.#countChanges, this.#safeIntegers);
  }

  /** As in bun:sqlite, the first statement gets the bindings, and the others run without. */
  *#steps(sql: string, bindings: unknown[]): Generator<() => void> {
    let first = bindings.length > 0;
    for (const statement of statementsOf(this.#driver, sql)) {
      const bound = first ? bind(parametersOf(statement.source), bindings) : unbound(statement);
      yield () => statement.run(bound);
      first = false;
    }
  }

  /** Without finalizing: whoever holds the statement may go on using it. */
  #dropOldest(): void {
    for (const sql of this.#cache.keys()) {
      this.#cache.delete(sql);
      return;
    }
  }
}

/** Some drivers ignore it, and Deno crashes. */
function refuseBlank(sql: string): void {
  if (typeof sql !== "string") throw new TypeError(`Cannot compile SQL: expected a string, got ${typeof sql}`);
  if (!hasStatement(sql)) throw new RangeError("Cannot compile SQL: there is no statement in the text");
}
