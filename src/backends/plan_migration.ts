/**
 * What a migration has to do, whatever the dialect.
 *
 * @module
 */

import { SkiplockedError } from "../errors.ts";
import type { Script } from "../query.ts";
import { schemas } from "../sql.gen.ts";

const WORKFLOWS = ["workflow_id", "status", "stuck_reason", "created_at", "updated_at"];

// What the program that made workflow_attempts years ago works with.
const OLDER_ATTEMPTS = [
  "attempt_id", "workflow_id", "role", "tier", "status", "pickup_count", "locked_by_instance", "locked_at",
  "lock_heartbeat_at", "started_at", "created_at",
];

/** Names of columns. */
interface Columns {
  has(name: string): boolean;
}

/**
 * The scripts that bring tables of version `from` to the version of this code: the whole schema for a new database, the
 * upgrades for one that is there.
 *
 * @throws {SkiplockedError} `schema_too_new`.
 */
export function planMigration(dialect: "postgres" | "sqlite", from: number): readonly Script[] {
  const { schema, upgrades } = schemas[dialect];
  if (from > schema.version) {
    const message = `Cannot migrate: the tables have version ${from}, this code knows version ${schema.version} and before, ` +
      'update the package "skiplocked"';
    throw new SkiplockedError("schema_too_new", message);
  }
  return from === 0 ? [schema] : upgrades.filter((upgrade) => upgrade.version > from);
}

/** The version that is recorded; 0 for a table of versions that is empty. */
export function readVersion(recorded: unknown): number {
  const version = Number(recorded ?? 0);
  if (Number.isInteger(version) && version >= 0) return version;
  throw conflict(`skiplocked_schema.version says "${recorded}"`);
}

/**
 * Refuses tables of another program under our names, and takes the older program's `workflow_attempts` for ours.
 *
 * @throws {SkiplockedError} `schema_conflict`.
 */
export function requireOurTables(tables: ReadonlyMap<string, Columns>): void {
  for (const [table, wanted] of [["workflows", WORKFLOWS], ["workflow_attempts", OLDER_ATTEMPTS]] as const) {
    const columns = tables.get(table);
    if (columns !== undefined) requireColumns(table, columns, wanted);
  }
}

/** What has one of our names: a table, an index or something else, and the table that it is or belongs to. */
export type Found = readonly [name: string, kind: string, table: string];

/**
 * Refuses what has a name of ours and is something else: what `create .. if not exists` would take for its own.
 *
 * @throws {SkiplockedError} `schema_conflict`.
 */
export function requireOurNames(dialect: "postgres" | "sqlite", found: readonly Found[]): void {
  const made = namesOf(dialect);
  for (const [name, kind, table] of found) {
    const wanted = made.get(name);
    if (wanted === undefined || wanted[0] === kind && wanted[1] === table) continue;
    throw conflict(wanted[0] === kind ? `the ${kind} ${name} is one of ${table}` : `${name} is no ${wanted[0]} but has its name (${kind})`);
  }
}

/** Kind and table of everything that the schema makes, by its name. */
export function namesOf(dialect: "postgres" | "sqlite"): ReadonlyMap<string, readonly [kind: string, table: string]> {
  const created = schemas[dialect].schema.text.matchAll(/create (?:unique )?(table|index) if not exists (?:main\.)?(\w+)(?:\s+on (\w+))?/g);
  return new Map([...created].map(([, kind = "", name = "", table = name]) => [name, [kind, table]]));
}

/** @throws {SkiplockedError} `schema_conflict` if a column is missing. */
export function requireColumns(table: string, columns: Columns, wanted: readonly string[]): void {
  const missing = wanted.find((name) => !columns.has(name));
  if (missing !== undefined) throw conflict(`${table} has no column "${missing}"`);
}

/** The error for a table of another program: what is wrong with it. */
export function conflict(fault: string): SkiplockedError {
  const message = `Cannot migrate: a table of another program is in the way: ${fault}, use another schema or file for the queue ` +
    "or rename that table";
  return new SkiplockedError("schema_conflict", message);
}
