import type { Driver } from "./driver.ts";
import { withSqliteErrors } from "./errors.ts";
import { execute } from "./script.ts";
import type { Transaction } from "./types.ts";

/**
 * Wraps a function in a transaction, or in a savepoint when one is already open.
 *
 * @param driver The connection.
 * @param fn What to run inside.
 * @returns The wrapped function with its `deferred`, `immediate` and `exclusive` variants.
 */
export function transaction<Args extends unknown[], Result>(
  driver: Driver,
  fn: (...args: Args) => Result,
): Transaction<Args, Result> {
  if (typeof fn !== "function") {
    throw new TypeError(`Cannot make a transaction: expected a function, got ${typeof fn}`);
  }
  const begunBy = (begin: string) =>
    function (this: unknown, ...args: Args): Result {
      return runInside(driver, begin, () => fn.apply(this, args));
    };
  return Object.assign(begunBy("begin"), {
    deferred: begunBy("begin deferred"),
    immediate: begunBy("begin immediate"),
    exclusive: begunBy("begin exclusive"),
  });
}

function runInside<Result>(driver: Driver, begin: string, fn: () => Result): Result {
  const { start, commit, rollback } = driver.inTransaction
    ? { start: "savepoint skiplocked", commit: "release skiplocked", rollback: ROLLBACK_TO_SAVEPOINT }
    : { start: begin, commit: "commit", rollback: "rollback" };
  withSqliteErrors(() => execute(driver, start));
  try {
    const result = fn();
    if (isThenable(result)) {
      throw new TypeError("Cannot run a transaction over a function that returns a promise: it would commit too early");
    }
    withSqliteErrors(() => execute(driver, commit));
    return result;
  } catch (error) {
    // SQLite ends the transaction itself after some errors, a full disk for one.
    if (driver.inTransaction) rollBack(driver, rollback);
    throw error;
  }
}

/** Where that fails as well the first error says more. */
function rollBack(driver: Driver, statements: string): void {
  try {
    execute(driver, statements);
  } catch {}
}

// Going back to a savepoint leaves it open, hence the release.
const ROLLBACK_TO_SAVEPOINT = "rollback to skiplocked; release skiplocked";

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
