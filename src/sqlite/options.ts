import { SkiplockedError } from "../errors.ts";

/** Options of `openSqlite`. */
export interface OpenSqliteOptions {
  /**
   * Open for reading only. The file must exist, and its journal mode stays what it is.
   *
   * @default {false}
   */
  readonly?: boolean;
  /**
   * Create the file if it does not exist; else that is an error with the code `SQLITE_CANTOPEN`.
   *
   * @default {true}
   */
  create?: boolean;
  /**
   * Read every INTEGER as bigint instead of a number, which is inexact beyond 2^53.
   *
   * @default {false}
   */
  safeIntegers?: boolean;
  /**
   * How long a statement waits for a lock, in milliseconds, before it fails with `SQLITE_BUSY`. The wait blocks the
   * event loop.
   *
   * @default {5000}
   */
  busyTimeoutMs?: number;
  /**
   * `"FULL"`: what is committed survives a loss of power. `"NORMAL"`: faster, and the last commits may be lost then.
   *
   * @default {"FULL"}
   */
  synchronous?: "FULL" | "NORMAL";
  /**
   * Open the file although it is on a network file system. Only safe if no second machine ever opens it.
   *
   * @default {false}
   */
  allowNetworkFileSystem?: boolean;
}

/** Options of `openSqlite` with every default filled in. */
export type Settings = Required<OpenSqliteOptions>;

const DEFAULTS: Settings = {
  readonly: false,
  create: true,
  safeIntegers: false,
  busyTimeoutMs: 5000,
  synchronous: "FULL",
  allowNetworkFileSystem: false,
};

/**
 * Checks what the caller passed to `openSqlite`.
 *
 * @throws {SkiplockedError} `invalid_argument`
 */
export function readOptions(path: string, options: OpenSqliteOptions): Settings {
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(DEFAULTS, key)) refuse(`there is no option "${key}", only ${Object.keys(DEFAULTS).join(", ")}`);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings: Settings = { ...DEFAULTS, ...Object.fromEntries(given) };
  for (const key of ["readonly", "create", "safeIntegers", "allowNetworkFileSystem"] as const) {
    expect(typeof settings[key] === "boolean", key, "a boolean", settings[key]);
  }
  const { busyTimeoutMs, synchronous } = settings;
  expect(isTimeout(busyTimeoutMs), "busyTimeoutMs", "an integer from 0 to 2147483647", busyTimeoutMs);
  expect(synchronous === "FULL" || synchronous === "NORMAL", "synchronous", '"FULL" or "NORMAL"', synchronous);
  checkPath(path, settings);
  return settings;
}

function checkPath(path: string, { readonly }: Settings): void {
  expect(typeof path === "string" && path.trim() !== "", "path", 'a file path or ":memory:"', path);
  if (path.includes("\0")) refuse("the path contains a NUL character");
  if (path.trim().startsWith("file:")) refuse(`"${path}" is a URI; pass a plain path`);
  if (isMemory(path) && readonly) refuse("a database in memory cannot be readonly");
}

/** Whether the path means a database in memory. */
export function isMemory(path: string): boolean {
  return path.trim() === ":memory:";
}

function isTimeout(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 2147483647;
}

function expect(ok: boolean, name: string, wanted: string, got: unknown): void {
  if (!ok) refuse(`"${name}" must be ${wanted}, got ${typeof got === "string" ? `"${got}"` : String(got)}`);
}

function refuse(why: string): never {
  throw new SkiplockedError("invalid_argument", `Cannot open a SQLite database: ${why}`);
}
