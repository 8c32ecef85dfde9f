/**
 * bun:sqlite, which is the API itself and needs no adapter.
 *
 * @module
 */

import type { Connect } from "./driver.ts";
import type { Database } from "./types.ts";

interface BunSqlite {
  Database: new (path: string, options: BunOptions) => Database;
}

interface BunOptions {
  readonly strict: true;
  readonly safeIntegers: boolean;
  readonly readonly?: boolean;
  readonly readwrite?: boolean;
  readonly create?: boolean;
}

/** Loads bun:sqlite. No literal in the `import`: Deno refuses a program with this one anywhere, reached or not. */
export async function loadBunSqlite(specifier = "bun:sqlite"): Promise<Connect> {
  const { Database } = await import(specifier) as BunSqlite;
  return (path, { readonly, create, safeIntegers }) => {
    return new Database(path, { strict: true, safeIntegers, ...(readonly ? { readonly } : { readwrite: true, create }) });
  };
}
