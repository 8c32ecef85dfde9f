import process from "node:process";
import { loadBetterSqlite3 } from "./better_sqlite3.ts";
import { loadBunSqlite } from "./bun_sqlite.ts";
import type { Connect } from "./driver.ts";
import { findNodeSqlite } from "./node_sqlite.ts";

/**
 * The SQLite of this runtime. Which one that is depends on the runtime alone, and never on what is installed: a program
 * must not change its behaviour with a package that somebody adds.
 *
 * @throws {SkiplockedError} `driver_missing` if that is better-sqlite3 and it does not load.
 */
export async function loadSqlite(): Promise<Connect> {
  // Bun has `node:sqlite` as well.
  if (process.versions["bun"] !== undefined) return await loadBunSqlite();
  return findNodeSqlite() ?? await loadBetterSqlite3();
}
