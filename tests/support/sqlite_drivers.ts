import { existsSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";
import type { Database, OpenSqliteOptions } from "../../src/sqlite.ts";
import { loadBetterSqlite3 } from "../../src/sqlite/better_sqlite3.ts";
import { loadBunSqlite } from "../../src/sqlite/bun_sqlite.ts";
import type { Connect } from "../../src/sqlite/driver.ts";
import { findNodeSqlite } from "../../src/sqlite/node_sqlite.ts";
import { openWith } from "../../src/sqlite/open.ts";
import { runtimePackage } from "./runtimes.ts";

export type DriverName = "bun:sqlite" | "node:sqlite" | "better-sqlite3 12" | "better-sqlite3 13";

/** What is behind a database under test. */
export interface DriverUnderTest {
  readonly name: DriverName;
  /** As `openSqlite` does it, but with this driver. */
  open(path: string, options?: OpenSqliteOptions): Promise<Database>;
}

/** Every driver that the running runtime loads; `openSqlite` takes the first one. */
export function drivers(): DriverUnderTest[] {
  const native13 = `${runtimePackage("better-sqlite3")}/lib/index.js`;
  const found: DriverUnderTest[] = [];
  const add = (name: DriverName, load: () => Promise<Connect>) => {
    found.push({ name, open: (path, options = {}) => openWith(load, path, options) });
  };
  if (process.versions["bun"] !== undefined) add("bun:sqlite", loadBunSqlite);
  const nodeSqlite = findNodeSqlite();
  if (nodeSqlite !== undefined) add("node:sqlite", () => Promise.resolve(nodeSqlite));
  if (isNode20()) add("better-sqlite3 12", loadBetterSqlite3);
  else if (existsSync(native13)) add("better-sqlite3 13", () => loadBetterSqlite3(pathToFileURL(native13).href));
  return found;
}

// Version 13 ends it with a segmentation fault, and version 12 is built for it.
function isNode20(): boolean {
  return process.versions.node.startsWith("20.") && process.versions["deno"] === undefined;
}
