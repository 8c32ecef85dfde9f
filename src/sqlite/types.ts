import type { ClosedByUsing } from "./closed_by_using.ts";
import type { Changes, ParamsOf, SQLiteParam, SQLiteRow, SQLiteValue } from "./values.ts";

/**
 * A SQLite connection with the API of bun:sqlite.
 *
 * @example Insert and read
 * ```ts
 * import { openSqlite } from "skiplocked/sqlite";
 *
 * const db = await openSqlite(":memory:");
 * db.run("create table t (a integer); create index t_a on t (a)");
 * const add = db.transaction((values: number[]) => {
 *   for (const value of values) db.query("insert into t values (?)").run(value);
 * });
 * add.immediate([1, 2, 3]);
 * console.log(db.query("select sum(a) as sum from t").get()); // { sum: 6 }
 * db.close();
 * ```
 */
export interface Database extends ClosedByUsing {
  /** The path that was given. */
  readonly filename: string;
  /** Whether a transaction is open. */
  readonly inTransaction: boolean;

  /**
   * Compiles a statement, or gives the one that it compiled for the same text before; the last 20 are kept.
   *
   * @typeParam Row What a row looks like. Not checked.
   * @typeParam Params What the statement's methods take. Not checked.
   * @param sql The statement. Text after the first one is ignored.
   * @returns The statement, which is shared: `finalize` it only if nobody else uses the same text.
   * @throws SQLite's error if the statement is wrong.
   */
  query<Row = SQLiteRow, Params extends SQLiteParam | SQLiteParam[] = SQLiteParam[]>(
    sql: string,
  ): Statement<Row, ParamsOf<Params>>;

  /**
   * Compiles a statement. Like {@linkcode Database.query}, but always a new one. On Bun it keeps the file open until it
   * is finalized, also after `close`.
   *
   * @typeParam Row What a row looks like. Not checked.
   * @typeParam Params What the statement's methods take. Not checked.
   * @param sql The statement. Text after the first one is ignored.
   * @returns The statement.
   * @throws SQLite's error if the statement is wrong.
   */
  prepare<Row = SQLiteRow, Params extends SQLiteParam | SQLiteParam[] = SQLiteParam[]>(
    sql: string,
  ): Statement<Row, ParamsOf<Params>>;

  /**
   * Runs all statements of a text.
   *
   * @param sql One statement or more; a text without any is refused.
   * @param bindings The first statement's parameters; without any, its parameters are NULL.
   * @returns What all of them changed together.
   * @throws SQLite's error of the first statement that fails; those before it have run.
   */
  run(sql: string, ...bindings: SQLiteParam[]): Changes;

  /**
   * The same as {@linkcode Database.run}.
   *
   * @param sql One statement or more.
   * @param bindings The first statement's parameters.
   * @returns What all of them changed together.
   */
  exec(sql: string, ...bindings: SQLiteParam[]): Changes;

  /**
   * Makes a function that runs in a transaction: committed when it returns, rolled back when it throws. Called while a
   * transaction is open, it is a part of that one (a savepoint) which can be rolled back alone.
   *
   * @param fn What to run. It must not return a promise: the transaction would end before the promise does. Called with
   * one that does, the function throws a `TypeError` after rolling back; on Bun it commits.
   * @returns The function, with the same arguments and result.
   */
  transaction<Args extends unknown[], Result>(fn: (...args: Args) => Result): Transaction<Args, Result>;

  /**
   * Closes the connection. Silent when it is closed already.
   *
   * @param throwOnError Throw if it cannot be closed: with better-sqlite3 while an iteration is still going on.
   */
  close(throwOnError?: boolean): void;
}

/** A function that runs in a transaction. */
export interface Transaction<Args extends unknown[], Result> {
  /** Runs it; the lock is taken by the first statement that needs one. */
  (...args: Args): Result;
  /** The same, by `begin deferred`. */
  deferred(...args: Args): Result;
  /** Takes the write lock at once, so that no later statement finds it taken. */
  immediate(...args: Args): Result;
  /** Like `immediate` with a write-ahead log; otherwise keeps readers out too. */
  exclusive(...args: Args): Result;
}

/**
 * A compiled statement. Its methods take values by position (`1, "a"` or `[1, "a"]`), or one object of named values
 * whose keys may have the prefix of the parameter (`:a`, `$a`, `@a`) or leave it out; a `?` has the number of its place as
 * its key, from 0. Keys without a parameter are ignored; a parameter without a value is an error.
 *
 * @typeParam Row What a row looks like.
 * @typeParam Params What its methods take.
 */
export interface Statement<Row = SQLiteRow, Params extends unknown[] = SQLiteParam[]> extends ClosedByUsing {
  /** The names of the columns; empty if it returns no rows. */
  readonly columnNames: string[];
  /** How many parameters it has. */
  readonly paramsCount: number;

  /**
   * Reads one row.
   *
   * @param params The values of the parameters.
   * @returns The first row, or null if there is none.
   * @throws SQLite's error; and one of another kind if a value is missing, left over, or cannot be stored.
   */
  get(...params: Params): Row | null;

  /**
   * Reads all rows.
   *
   * @param params The values of the parameters.
   * @returns All rows; none if the statement returns no rows.
   * @throws As {@linkcode Statement.get}.
   */
  all(...params: Params): Row[];

  /**
   * Reads all rows without the names of their columns.
   *
   * @param params The values of the parameters.
   * @returns All rows as arrays, in the order of the columns.
   * @throws As {@linkcode Statement.get}.
   */
  values(...params: Params): SQLiteValue[][];

  /**
   * Runs it and drops its rows.
   *
   * @param params The values of the parameters.
   * @returns What it changed.
   * @throws As {@linkcode Statement.get}.
   */
  run(...params: Params): Changes;

  /**
   * Reads the rows one by one. The statement runs while the rows are read.
   *
   * @param params The values of the parameters.
   * @returns The rows.
   * @throws As {@linkcode Statement.get}, when the first row is asked for.
   */
  iterate(...params: Params): IterableIterator<Row>;

  /** Reads the rows of a statement without parameters one by one. */
  [Symbol.iterator](): IterableIterator<Row>;

  /** Whether it reads every INTEGER as bigint. */
  safeIntegers(): boolean;
  /**
   * Sets whether it reads every INTEGER as bigint.
   *
   * @param enabled The new setting.
   * @returns The statement.
   */
  safeIntegers(enabled: boolean): this;

  /** Gives it up: whoever uses it afterwards gets an error. */
  finalize(): void;

  /** The text of the statement. */
  toString(): string;
}
