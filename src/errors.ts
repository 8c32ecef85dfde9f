/** What a {@linkcode SkiplockedError} is about: stable, to be tested instead of the message or the class. */
export type SkiplockedErrorCode =
  /** The attempt is no longer held under this lease: it was reaped, released, finished, cancelled or claimed anew. */
  | "lease_lost"
  /** An argument or option was refused before any SQL. */
  | "invalid_argument"
  /** No workflow has this id. */
  | "not_found"
  /** The workflow's state does not allow the operation; nothing was changed. */
  | "wrong_state"
  /** The workflow is STUCK or CANCELLED and takes no new attempt; nothing was written. */
  | "workflow_closed"
  /** The tables are missing or older than this code: run `migrate()`. */
  | "schema_missing"
  /** The tables belong to a newer release than this code. */
  | "schema_too_new"
  /** A table of another program has one of our names. */
  | "schema_conflict"
  /** `createQueue` was given something that is no connection it knows. */
  | "unsupported_connection"
  /** The SQLite file stayed locked until the bounded wait was over; nothing was changed. */
  | "busy"
  /** The package that drives SQLite on this runtime is not installed or does not load. */
  | "driver_missing"
  /** The SQLite file lies where it cannot be shared: on a network file system, or where there is no write-ahead log. */
  | "unsupported_filesystem";

/**
 * Every error that this library raises itself. A driver's own error passes through unchanged, with its SQLSTATE or
 * SQLite code.
 *
 * Test `code` (or `name`) and not `instanceof`: two copies of a package have two classes.
 *
 * @example
 * ```ts
 * import { SkiplockedError } from "skiplocked";
 *
 * const error = new SkiplockedError("not_found", "Cannot retry workflow 7: there is none");
 * if (error.code === "not_found") console.log(error.message);
 * ```
 */
export class SkiplockedError extends Error {
  /** Always `"SkiplockedError"`, or `"LeaseLostError"` for that one. */
  override readonly name: string = "SkiplockedError";
  /** What happened, see {@linkcode SkiplockedErrorCode}. */
  readonly code: SkiplockedErrorCode;

  /**
   * Makes one, as this library does.
   *
   * @param code What happened.
   * @param message What was wrong, the value, and what to do.
   * @param options `cause`: the error underneath.
   */
  constructor(code: SkiplockedErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The attempt is not held under the given lease any more; nothing was changed. Its `code` is `lease_lost`.
 *
 * Thrown by `complete`, `fail` and `release`. Stop working on the attempt: another worker has it or will have it.
 */
export class LeaseLostError extends SkiplockedError {
  /** Always `"LeaseLostError"`. */
  override readonly name: string = "LeaseLostError";

  /**
   * Makes one, as this library does.
   *
   * @param message Which lease, and what to do.
   * @param options `cause`: the error underneath.
   */
  constructor(message: string, options?: { cause?: unknown }) {
    super("lease_lost", message, options);
  }
}
