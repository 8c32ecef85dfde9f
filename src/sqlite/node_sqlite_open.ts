/**
 * Opening a file with `node:sqlite`, which creates it unless told otherwise, and cannot be told everywhere.
 *
 * @module
 */

import { statSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { sqliteError, toSqliteError } from "./errors.ts";
import { isMemory } from "./options.ts";

/** The subset of `node:sqlite` that is used. Its own types are not: not every `@types/node` has them. */
export interface NativeConstructor {
  new (path: string, options?: NativeOptions): NativeDatabase;
}

export interface NativeDatabase {
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
  prepare(sql: string): NativeStatement;
  exec(sql: string): void;
  close(): void;
}

export interface NativeStatement {
  readonly sourceSQL: string;
  columns(): { name: string }[];
  setReadBigInts(enabled: boolean): void;
  setReturnArrays(enabled: boolean): void;
  setAllowBareNamedParameters(enabled: boolean): void;
  run(...params: unknown[]): unknown;
  get(...params: unknown[]): unknown;
  all(...params: unknown[]): unknown[];
  iterate(...params: unknown[]): Iterable<unknown>;
}

interface NativeOptions {
  readonly readOnly?: boolean;
  readonly enableDoubleQuotedStringLiterals?: boolean;
  readonly defensive?: boolean;
}

// What bun:sqlite allows and what not.
const LIKE_BUN = { enableDoubleQuotedStringLiterals: true, defensive: true };

/** Opens a connection that waits for no lock. */
export function openNative(
  Native: NativeConstructor,
  path: string,
  { readonly, create }: { readonly readonly: boolean; readonly create: boolean },
): NativeDatabase {
  const native = create || readonly || isMemory(path)
    ? open(Native, path, { ...LIKE_BUN, readOnly: readonly })
    : openExisting(Native, path);
  // Deno sets 5 seconds, whatever its option says.
  native.exec("pragma busy_timeout = 0");
  return native;
}

function openExisting(Native: NativeConstructor, path: string): NativeDatabase {
  // Without the permission for everything, Deno takes a URI for a path.
  if (process.versions["deno"] !== undefined) return openWatched(Native, path);
  return open(Native, `${pathToFileURL(path)}?mode=rw`, LIKE_BUN);
}

/**
 * Has no way to say "do not create": a second connection, which never creates, looks before. While it is open the number
 * of its file is given to no other, which tells whether the file was deleted and created anew in between.
 */
export function openWatched(Native: NativeConstructor, path: string): NativeDatabase {
  const witness = open(Native, path, { readOnly: true });
  let native: NativeDatabase | undefined;
  try {
    const before = statSync(path, { bigint: true });
    native = open(Native, path, LIKE_BUN);
    const after = statSync(path, { bigint: true });
    if (before.ino === after.ino && before.dev === after.dev) return native;
    throw sqliteError(new Error(`Cannot open "${path}": it was deleted meanwhile`), "SQLITE_CANTOPEN", 14);
  } catch (error) {
    native?.close();
    throw error;
  } finally {
    witness.close();
  }
}

function open(Native: NativeConstructor, path: string, options: NativeOptions): NativeDatabase {
  try {
    return new Native(path, options);
  } catch (error) {
    // Deno has no number for this one.
    const isAboutPath = error instanceof Error && error.message.startsWith("unable to open database file");
    throw isAboutPath ? sqliteError(error, "SQLITE_CANTOPEN", 14) : toSqliteError(error);
  }
}
