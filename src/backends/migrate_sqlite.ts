import { schemas } from "../sql.gen.ts";
import type { Migrated } from "./backend.ts";
import { conflict, planMigration, readVersion, requireColumns, requireOurTables } from "./plan_migration.ts";
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

// Each table is named with "main": a temporary one, or one of an attached database, may have its name.

/** The version of the tables; 0: there are none. */
export function recordedVersion(db: SqliteHandle): number {
  const columns = columnsOf(db, "skiplocked_schema");
  if (columns === undefined) return 0;
  requireColumns("skiplocked_schema", columns, ["version"]);
  const [row] = compile(db, "select max(version) as version from main.skiplocked_schema").all();
  return readVersion(Object.values(row as object)[0]);
}

// Takes over the workflow_attempts that the older program made, if there is one.
function adopt(db: SqliteHandle): void {
  const tables = ["workflows", "workflow_attempts"].map((table) => [table, columnsOf(db, table)] as const);
  requireOurTables(new Map(tables.flatMap(([table, columns]) => columns === undefined ? [] : [[table, columns]])));
  const attempts = columnsOf(db, "workflow_attempts");
  if (attempts === undefined) return;
  if (attempts.get("attempt_id") !== "INTEGER PRIMARY KEY") {
    throw conflict("workflow_attempts.attempt_id is no integer primary key");
  }
  if (!attempts.has("fencing_token") && schemas.sqlite.adopt !== null) db.exec(schemas.sqlite.adopt.text);
}

// Name and, for the primary key, type.
function columnsOf(db: SqliteHandle, table: string): Map<string, string> | undefined {
  const text = `select name, upper(type) || iif(pk, ' PRIMARY KEY', '') as type from pragma_table_info('${table}', 'main')`;
  const rows = compile(db, text).all().map((row) => Object.values(row as object).map(String) as [string, string]);
  return rows.length === 0 ? undefined : new Map(rows);
}
