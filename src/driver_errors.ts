/**
 * What drivers' errors mean. Decided by code, in one place.
 *
 * @module
 */

import { SkiplockedError } from "./errors.ts";
import { schemas } from "./sql.gen.ts";

// The statement did nothing and may be run again.
const SERIALIZATION_FAILURE = "40001";
const DEADLOCK_DETECTED = "40P01";

// undefined_table, undefined_column, invalid_schema_name.
const MISSING = ["42P01", "42703", "3F000"];

// Raised by schema.sql.
const CONFLICT = "SL001";

// program_limit_exceeded: an index row holds at most 2,704 bytes after compression. A payload has limits of its own. Beyond 8,191
// bytes the row cannot even be formed, and the message names no index.
const TOO_LONG = "54000";

const UNIQUE_VIOLATION = "23505";

/** The SQLSTATE of an error: most drivers have it as `code`, Bun.SQL as `errno`. */
export function sqlState(error: unknown): string | undefined {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown };
  return [code, errno].find((value): value is string => typeof value === "string" && /^[0-9A-Z]{5}$/.test(value));
}

/** Whether Postgres refused a statement only because of what others did at the same moment. */
export function isCollision(error: unknown): boolean {
  const state = sqlState(error);
  return state === SERIALIZATION_FAILURE || state === DEADLOCK_DETECTED || state === UNIQUE_VIOLATION && isOurs(error);
}

/** What a statement gets that ran under another isolation level than read committed: there it never happens. */
export function isSerializationFailure(error: unknown): boolean {
  return sqlState(error) === SERIALIZATION_FAILURE;
}

// An id that another program's rows had first, or a key that was taken while the statement ran: gone the next time.
function isOurs(error: unknown): boolean {
  const { constraint_name, constraint } = error as { constraint_name?: unknown; constraint?: unknown };
  return ["workflows_pkey", "workflow_attempts_pkey", "workflow_attempts_key"].includes(String(constraint_name ?? constraint));
}

/** Says in our words what the caller can mend; every other error passes through as it is. */
export function explainPostgres(error: unknown, schema: string): unknown {
  const state = sqlState(error) ?? "";
  const cause = { cause: error };
  // With a context it comes from inside a function: a trigger of the caller's misses something of the caller's.
  const { where } = (error ?? {}) as { where?: unknown };
  if (MISSING.includes(state) && !where && isAboutOurs(messageOf(error))) return schemaMissing(`schema "${schema}"`, error);
  if (state === CONFLICT) return new SkiplockedError("schema_conflict", `Cannot migrate: ${messageOf(error)}`, cause);
  if (state === TOO_LONG && /workflow_attempts_(pending|key)|index row requires/.test(messageOf(error))) {
    return new SkiplockedError("invalid_argument", "Cannot enqueue: a role is too long for an index of Postgres, shorten it to 2,600 bytes", cause);
  }
  return error;
}

/** Whether SQLite gave up because somebody else holds a lock; PROTOCOL is what two get that start the same log at once. */
export function isBusy(error: unknown): boolean {
  const { code, errcode, errno } = (error ?? {}) as { code?: unknown; errcode?: unknown; errno?: unknown };
  if (typeof code === "string" && /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code)) return true;
  if ([errcode, errno].some((number) => typeof number === "number" && [5, 6, 15].includes(number & 0xff))) return true;
  // node:sqlite under Deno has no number for what exec met.
  return /database (?:table )?is locked|locking protocol/.test(messageOf(error));
}

/** Whether a prepared statement of SQLite is no longer one; drivers have no code for it. */
export function isFinalized(error: unknown): boolean {
  return /statement has (?:been )?finalized/i.test(messageOf(error));
}

/** The same as {@linkcode explainPostgres} for SQLite, which has no code for it but a message. */
export function explainSqlite(error: unknown): unknown {
  const [, name] = /no such (?:table|column|index): (?:[^\s.]+\.)?(\w+)$/.exec(messageOf(error)) ?? [];
  // A trigger of the caller's may miss something of the caller's. Columns are named without their table.
  const missing = name !== undefined && new RegExp(`\\b${name}\\b`).test(schemas.sqlite.schema.text);
  return missing ? schemaMissing("this file", error) : error;
}

// A trigger of the caller's may miss a table of the caller's.
function isAboutOurs(message: string): boolean {
  return /column|schema|\bworkflows|\bworkflow_attempts|\bskiplocked_schema/.test(message);
}

function schemaMissing(where: string, error: unknown): SkiplockedError {
  const message = `The tables of the queue are missing or too old in ${where} (${messageOf(error)}), run "await queue.migrate()" first`;
  return new SkiplockedError("schema_missing", message, { cause: error });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String((error as { message?: unknown })?.message ?? error);
}
