import { SkiplockedError } from "../errors.ts";
import { schemas } from "../sql.gen.ts";
import type { Migrated } from "./backend.ts";
import { planMigration } from "./plan_migration.ts";
import type { SqliteHandle } from "./sqlite.ts";

// What the program that made workflow_attempts years ago works with.
const OLDER = [
  "attempt_id", "workflow_id", "role", "tier", "status", "pickup_count", "locked_by_instance", "locked_at",
  "lock_heartbeat_at", "started_at", "created_at",
];

/**
 * Makes or upgrades the tables, inside a transaction. Writes nothing when there is nothing to do.
 *
 * @throws {SkiplockedError} `schema_too_new`, or `schema_conflict` when a table of another program is in the way.
 */
export function migrateSqlite(db: SqliteHandle): Migrated {
  const from = recordedVersion(db);
  const scripts = planMigration("sqlite", from);
  if (from === 0) prepareTables(db);
  for (const script of scripts) db.exec(script.text);
  return { from, to: scripts.at(-1)?.version ?? from };
}

function recordedVersion(db: SqliteHandle): number {
  const columns = columnsOf(db, "skiplocked_schema");
  if (columns.size === 0) return 0;
  requireColumns("skiplocked_schema", columns, ["version"]);
  const [row] = db.prepare("select coalesce(max(version), 0) as version from skiplocked_schema").all();
  return Number(Object.values(row as object)[0]);
}

function prepareTables(db: SqliteHandle): void {
  const workflows = columnsOf(db, "workflows");
  if (workflows.size > 0) {
    requireColumns("workflows", workflows, ["workflow_id", "status", "stuck_reason", "created_at", "updated_at"]);
  }
  const attempts = columnsOf(db, "workflow_attempts");
  if (attempts.size === 0) return;
  requireColumns("workflow_attempts", attempts, OLDER);
  if (attempts.get("attempt_id") !== "INTEGER PRIMARY KEY") {
    throw conflict("workflow_attempts.attempt_id is no integer primary key");
  }
  if (!attempts.has("fencing_token") && schemas.sqlite.adopt !== null) db.exec(schemas.sqlite.adopt.text);
}

// Name and, for the primary key, type.
function columnsOf(db: SqliteHandle, table: string): Map<string, string> {
  const rows = db.prepare(`select name, upper(type) || iif(pk, ' PRIMARY KEY', '') as type from pragma_table_info('${table}')`).all();
  return new Map(rows.map((row) => Object.values(row as object).map(String) as [string, string]));
}

function requireColumns(table: string, columns: ReadonlyMap<string, string>, wanted: readonly string[]): void {
  const missing = wanted.find((name) => !columns.has(name));
  if (missing !== undefined) throw conflict(`${table} has no column "${missing}"`);
}

function conflict(fault: string): SkiplockedError {
  const message = `Cannot migrate: a table of another program is in the way: ${fault}, use another file for the queue or rename that table`;
  return new SkiplockedError("schema_conflict", message);
}
