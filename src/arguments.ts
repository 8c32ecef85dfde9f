/**
 * Refuses what no database should be asked.
 *
 * @module
 */

import { SkiplockedError } from "./errors.ts";
import type { Id, Lease } from "./types.ts";

const INT_MAX = 2 ** 31 - 1;
const ID_MAX = 2n ** 63n - 1n;
const CENTURY_MS = 36_525 * 86_400_000;

// Roles are indexed: Postgres takes 2,704 bytes after compression, and a name that long is a mistake anyhow.
const ROLE_BYTES = 10_000;
const KEY_BYTES = 2_000;
const IDENTIFIER_BYTES = 63;

/** The error for an argument: what cannot be done, which argument, what it must be, what it was. */
export function invalid(action: string, name: string, wanted: string, got: unknown): SkiplockedError {
  return new SkiplockedError("invalid_argument", `Cannot ${action}: "${name}" must be ${wanted}, got ${show(got)}`);
}

/** A whole number from `least` to 2147483647. */
export function wholeNumber(action: string, name: string, value: unknown, least: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= INT_MAX) return value;
  throw invalid(action, name, `a whole number from ${least} to ${INT_MAX}`, value);
}

/** A 32-bit integer, negative ones too. */
export function integer(action: string, name: string, value: unknown): number {
  return wholeNumber(action, name, value, -INT_MAX - 1);
}

/** A span in milliseconds: whole, not negative, a century at the most. */
export function milliseconds(action: string, name: string, value: unknown): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= CENTURY_MS) return value;
  throw invalid(action, name, `a whole number of milliseconds from 0 to ${CENTURY_MS}`, value);
}

/** Text that every database stores as it is. */
export function text(action: string, name: string, value: unknown): string {
  if (typeof value !== "string") throw invalid(action, name, "a string", value);
  if (!isStorable(value)) throw invalid(action, name, "text without NUL and lone surrogates", value);
  return value;
}

/** Text or nothing. */
export function optionalText(action: string, name: string, value: unknown): string | null {
  return value === undefined || value === null ? null : text(action, name, value);
}

/** Text that names something: not empty, and not longer than `bytes` in UTF-8. */
export function name(action: string, argument: string, value: unknown, bytes: number = Infinity): string {
  const given = text(action, argument, value);
  if (given === "") throw invalid(action, argument, "a string that is not empty", value);
  if (given.length * 3 > bytes && new TextEncoder().encode(given).length > bytes) {
    throw invalid(action, argument, `no longer than ${bytes} bytes`, value);
  }
  return given;
}

export function role(action: string, argument: string, value: unknown): string {
  return name(action, argument, value, ROLE_BYTES);
}

export function key(action: string, argument: string, value: unknown): string {
  return name(action, argument, value, KEY_BYTES);
}

export function schemaName(value: unknown): string {
  return name("create a queue", "schema", value, IDENTIFIER_BYTES);
}

export function roles(action: string, value: unknown): string[] {
  if (!Array.isArray(value)) throw invalid(action, "roles", "an array of role names", value);
  return Array.from(value, (each, place) => role(action, `roles[${place}]`, each));
}

/** A 64-bit id as its digits. */
export function id(action: string, argument: string, value: unknown): string {
  const digits = typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : value;
  if (typeof digits === "string" && /^\d{1,19}$/.test(digits) && BigInt(digits) <= ID_MAX) return String(BigInt(digits));
  throw invalid(action, argument, "an id (digits as a string, a safe integer or a bigint)", value);
}

/** The three parts of a lease as the queries take them. */
export function lease(action: string, value: unknown): { attempt_id: string; instance_id: string; fencing_token: string } {
  if (typeof value !== "object" || value === null) {
    throw invalid(action, "lease", "a claim, or its attemptId, instanceId and fencingToken", value);
  }
  const { attemptId, instanceId, fencingToken, acquired, then } = value as Partial<Lease> & { acquired?: unknown; then?: unknown };
  if (typeof then === "function") throw invalid(action, "lease", 'a claim (put "await" before what gives it)', "a promise");
  if (acquired === false) throw invalid(action, "lease", "a claim that was acquired", "a refusal");
  return {
    attempt_id: id(action, "attemptId", attemptId),
    instance_id: name(action, "instanceId", instanceId),
    fencing_token: id(action, "fencingToken", fencingToken),
  };
}

/** An instant as ISO text in UTC, of the years that every database can write. */
export function instant(action: string, argument: string, value: unknown): string {
  const date = value instanceof Date ? value : typeof value === "string" && isZonedTime(value) ? new Date(value) : null;
  const year = date?.getUTCFullYear() ?? NaN;
  if (date !== null && year >= 1 && year <= 9999) return date.toISOString();
  throw invalid(action, argument, "a Date, or an ISO 8601 text with its offset, of the years 1 to 9999", value);
}

// `new Date` makes 2 March of 30 February.
function isZonedTime(value: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/.exec(value) ?? [];
  return new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
}

/** An options object with known names only, or nothing: a misspelt option would be ignored without a word. */
export function options<T extends object>(
  action: string,
  value: T | undefined,
  known: readonly (keyof T & string)[],
  argument: string = "options",
): Partial<T> {
  if (value === undefined) return {};
  // An error is an object as well: `fail(claim, error)` would lose it.
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Error) {
    throw invalid(action, argument, `an object of ${known.join(", ")}`, value);
  }
  refuseUnknown(action, value, known);
  return value;
}

/** Refuses an object that has other names. */
export function refuseUnknown(action: string, value: object, known: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new SkiplockedError("invalid_argument", `Cannot ${action}: there is no ${show(unknown)}, only ${known.join(", ")}`);
}

/** Whether text has no NUL, which Postgres refuses and some SQLite drivers cut at, and no half of a character. */
export function isStorable(value: string): boolean {
  return !/\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value);
}

/** A value for a message: short, and on one line. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : `the Date ${value.toISOString()}`;
  if (value instanceof Error) return "an Error";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** An id that is optional. */
export function optionalId(action: string, argument: string, value: Id | null | undefined): string | null {
  return value === undefined || value === null ? null : id(action, argument, value);
}
