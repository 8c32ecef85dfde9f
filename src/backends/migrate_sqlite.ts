import { schemas } from "../sql.gen.ts";
import type { Migrated } from "./backend.ts";
import { conflict, planMigration, readVersion, requireColumns, requireOurNames, requireOurTables, type Found } from "./plan_migration.ts";
import { compile, type SqliteHandle } from "./sqlite_handle.ts";

/**
 * Makes or upgrades the tables, inside a transaction. Writes nothing when there is nothing to do.
 *
 * @throws {SkiplockedError} `schema_too_new`, or `schema_conflict` when a table of another program is in the way.
 */
export function migrateSqlite(db: SqliteHandle): Migrated {
  const from = recordedVersion(db);
  const scripts = planMigration("sqlite", from);
  if (from === 0) adopt(db);
  for (const script of scripts) db.exec(script.text);
  return { from, to: scripts.at(-1)?.version ?? from };
}

/** The version of the tables; 0: there are none. In main: a temporary table, or one of an attached database, may have the name. */
export function recordedVersion(db: SqliteHandle): number {
  const columns = columnsOf(db, "skiplocked_schema");
  if (columns === undefined) return 0;
  requireColumns("skiplocked_schema", columns, ["version"]);
  const [row] = compile(db, "select max(version) as version from main.skiplocked_schema").all();
  return readVersion(Object.values(row as object)[0]);
}

// Takes over the workflow_attempts that the older program made, if there is one.
function adopt(db: SqliteHandle): void {
  const found = compile(db, "select lower(name) as name, type, lower(tbl_name) as belongs from main.sqlite_schema").all();
  requireOurNames("sqlite", found.map((row) => Object.values(row as object).map(String) as unknown as Found));
  const tables = ["workflows", "workflow_attempts"].map((table) => [table, columnsOf(db, table)] as const);
  requireOurTables(new Map(tables.flatMap(([table, columns]) => columns === undefined ? [] : [[table, columns]])));
  const attempts = columnsOf(db, "workflow_attempts");
  if (attempts === undefined) return;
  if (attempts.get("attempt_id") !== "INTEGER PRIMARY KEY") {
    throw conflict("workflow_attempts.attempt_id is no integer primary key");
  }
  requireRoomForOurs(db);
  if (!attempts.has("fencing_token") && schemas.sqlite.adopt !== null) db.exec(schemas.sqlite.adopt.text);
}

// What its own writes satisfy and ours would not.
function requireRoomForOurs(db: SqliteHandle): void {
  const [column] = compile(db, NEVER_NULL).all().map((row) => Object.values(row as object)[0]);
  if (column !== undefined) {
    throw conflict(`workflow_attempts.${column} may not be null: drop that, or give it a default if it is no column of the queue`);
  }
  // A check that refuses what it writes itself says nothing about the status.
  if (refusalOf(db, "pending") !== undefined) return;
  for (const status of ["scheduled", "in_progress", "succeeded", "failed", "cancelled"]) {
    const refusal = refusalOf(db, status);
    if (refusal !== undefined) throw conflict(`workflow_attempts refuses the status ${status}: drop what does (${refusal})`);
  }
}

const NEVER_NULL = `select name from pragma_table_info('workflow_attempts', 'main') where "notnull" and not pk
  and (name in ('tier', 'locked_by_instance', 'locked_at', 'lock_heartbeat_at', 'started_at')
       or dflt_value is null and name not in ('workflow_id', 'role', 'status', 'pickup_count', 'created_at'))`;

// Why a row may not have this status. The row is like one that is there, since roles may be checked too.
function refusalOf(db: SqliteHandle, status: string): string | undefined {
  db.exec("savepoint skiplocked_trial");
  try {
    db.exec(`insert into main.workflow_attempts (workflow_id, role, tier, status, pickup_count, created_at)
      select coalesce(max(workflow_id), 1), coalesce(max(role), 'any'), max(tier), '${status}', 0, coalesce(max(created_at), '2000-01-01 00:00:00')
      from main.workflow_attempts`);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    db.exec("rollback to skiplocked_trial; release skiplocked_trial");
  }
}

// Name and, for the primary key, type.
function columnsOf(db: SqliteHandle, table: string): Map<string, string> | undefined {
  const text = `select name, upper(type) || iif(pk, ' PRIMARY KEY', '') as type from pragma_table_info('${table}', 'main')`;
  const rows = compile(db, text).all().map((row) => Object.values(row as object).map(String) as [string, string]);
  return rows.length === 0 ? undefined : new Map(rows);
}
