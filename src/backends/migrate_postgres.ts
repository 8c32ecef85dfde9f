import { SkiplockedError } from "../errors.ts";
import type { Migrated } from "./backend.ts";
import { type PostgresJs, quoteIdentifier } from "./postgres.ts";
import { planMigration } from "./plan_migration.ts";

/**
 * Makes or upgrades the tables of `schema`, inside a transaction. Says nothing and writes nothing when there is nothing to do.
 *
 * @throws {SkiplockedError} `schema_too_new`, or `schema_conflict` when a table of another program is in the way.
 */
export async function migratePostgres(sql: PostgresJs, schema: string): Promise<Migrated> {
  const seen = await recordedVersion(sql, schema);
  if (planMigration("postgres", seen).length === 0) return { from: seen, to: seen };

  await sql.unsafe("select pg_advisory_xact_lock(hashtext('skiplocked'), hashtext(cast($1 as text)))", [schema]);
  const from = await recordedVersion(sql, schema);
  const scripts = planMigration("postgres", from);
  const [before] = await values(sql, "select current_setting('search_path') as search_path, current_setting('client_min_messages') as messages", []);
  // Without the check for it, a role that may not create schemas could not use one that is there.
  const [known] = await values(sql, "select count(*) from pg_namespace where nspname = cast($1 as text)", [schema]);
  if (Number(known?.[0]) === 0) await sql.unsafe(`create schema ${quoteIdentifier(schema)}`);
  await configure(sql, quoteIdentifier(schema), "warning");
  for (const script of scripts) await sql.unsafe(script.text);
  // The transaction may be the caller's and go on.
  await configure(sql, before?.[0], before?.[1]);
  return { from, to: scripts.at(-1)?.version ?? from };
}

async function recordedVersion(sql: PostgresJs, schema: string): Promise<number> {
  const table = `${quoteIdentifier(schema)}.skiplocked_schema`;
  // Not by to_regclass: after waiting for another migration it still answers from before.
  const text = "select count(*) as found from pg_class as c join pg_namespace as n on n.oid = c.relnamespace " +
    "where n.nspname = cast($1 as text) and c.relname = 'skiplocked_schema'";
  const [seen] = await values(sql, text, [schema]);
  if (Number(seen?.[0]) === 0) return 0;
  try {
    const [row] = await values(sql, `select cast(coalesce(max(version), 0) as text) from ${table}`, []);
    return Number(row?.[0]);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "42703") throw error;
    throw new SkiplockedError("schema_conflict", `Cannot migrate: a table of another program is in the way: ${table} has no column "version"`, {
      cause: error,
    });
  }
}

async function configure(sql: PostgresJs, searchPath: unknown, messages: unknown): Promise<void> {
  const text = "select set_config('search_path', cast($1 as text), true), set_config('client_min_messages', cast($2 as text), true)";
  await sql.unsafe(text, [String(searchPath), String(messages)]);
}

async function values(sql: PostgresJs, text: string, params: string[]): Promise<unknown[][]> {
  return (await sql.unsafe(text, params)).map((row) => Object.values(row as object));
}
