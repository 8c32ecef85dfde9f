import { SkiplockedError } from "../errors.ts";
import type { Migrated } from "./backend.ts";
import { planMigration, readVersion, requireColumns, requireOurNames, requireOurTables, type Found } from "./plan_migration.ts";
import { type PostgresSession, quoteIdentifier } from "./postgres_connection.ts";

// Whatever the caller's search_path finds first, these are the system's own.
const LOCK = "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('skiplocked'), pg_catalog.hashtext(cast($1 as pg_catalog.text)))";
const SETTINGS = "select pg_catalog.current_setting('search_path') as path, pg_catalog.current_setting('client_min_messages') as messages, pg_catalog.current_setting('server_encoding') as encoding";
const KNOWN = "select pg_catalog.count(*) as known from pg_catalog.pg_namespace where nspname = cast($1 as pg_catalog.text)";

/**
 * Makes or upgrades the tables of `schema`, inside a transaction. Says nothing and writes nothing when there is nothing to do.
 *
 * @throws {SkiplockedError} `schema_too_new`, or `schema_conflict` when a table of another program is in the way or the
 * database is not in UTF-8.
 */
export async function migratePostgres(session: PostgresSession, schema: string): Promise<Migrated> {
  const seen = await recordedVersion(session, schema);
  if (planMigration("postgres", seen).length === 0) return { from: seen, to: seen };

  await values(session, LOCK, [schema]);
  const from = await recordedVersion(session, schema);
  const scripts = planMigration("postgres", from);
  // A refusal must leave the transaction usable, so it has to come before an error of the script.
  const [before] = await values(session, SETTINGS, []);
  if (from === 0) {
    requireUtf8(before?.[2]);
    requireOurNames("postgres", await namesIn(session, schema));
    requireOurTables(await columnsOf(session, schema));
  }
  // Without the check for it, a role that may not create schemas could not use one that is there.
  const [known] = await values(session, KNOWN, [schema]);
  if (Number(known?.[0]) === 0) await session.script(`create schema ${quoteIdentifier(schema)}`);
  // Named last: where it is not named, temporary tables come first.
  await configure(session, "search_path", `${quoteIdentifier(schema)}, pg_temp`);
  for (const script of scripts) await session.script(script.text);
  // The transaction may be the caller's and go on.
  await configure(session, "search_path", before?.[0]);
  await configure(session, "client_min_messages", before?.[1]);
  return { from, to: scripts.at(-1)?.version ?? from };
}

// In another encoding the server refuses what cannot be written in it, or stores bytes of which it knows no letters.
function requireUtf8(encoding: unknown): void {
  if (encoding === "UTF8") return;
  const message = `Cannot migrate: the database has the encoding ${encoding}, the queue needs UTF8, make one with ` +
    "\"create database .. encoding 'UTF8' template template0\"";
  throw new SkiplockedError("schema_conflict", message);
}

async function recordedVersion(session: PostgresSession, schema: string): Promise<number> {
  // Not by to_regclass: after waiting for another migration it still answers from before.
  const columns = (await columnsOf(session, schema)).get("skiplocked_schema");
  if (columns === undefined) return 0;
  requireColumns("skiplocked_schema", columns, ["version"]);
  const [row] = await values(session, `select cast(pg_catalog.max(version) as pg_catalog.text) as version from ${quoteIdentifier(schema)}.skiplocked_schema`, []);
  return readVersion(row?.[0]);
}

async function namesIn(session: PostgresSession, schema: string): Promise<Found[]> {
  const rows = await values(
    session,
    "select cast(c.relname as pg_catalog.text) as name, case when c.relkind in ('r', 'p') then 'table' when c.relkind in ('i', 'I') then 'index' " +
      "when c.relkind in ('v', 'm') then 'view' else 'relation' end as kind, cast(coalesce(t.relname, c.relname) as pg_catalog.text) as belongs " +
      "from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace " +
      "left join pg_catalog.pg_index as i on i.indexrelid = c.oid left join pg_catalog.pg_class as t on t.oid = i.indrelid " +
      "where n.nspname = cast($1 as pg_catalog.text)",
    [schema],
  );
  return rows.map((row) => row.map(String) as [string, string, string]);
}

// The columns of each table, by the name of the table.
async function columnsOf(session: PostgresSession, schema: string): Promise<Map<string, Set<string>>> {
  const rows = await values(
    session,
    "select cast(c.relname as pg_catalog.text) as relation, cast(a.attname as pg_catalog.text) as attribute " +
      "from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace " +
      "join pg_catalog.pg_attribute as a on a.attrelid = c.oid " +
      "where n.nspname = cast($1 as pg_catalog.text) and c.relname in ('skiplocked_schema', 'workflows', 'workflow_attempts') " +
      "and a.attnum > 0 and not a.attisdropped",
    [schema],
  );
  const tables = new Map<string, Set<string>>();
  for (const [table, column] of rows.map((row) => row.map(String))) {
    tables.set(String(table), (tables.get(String(table)) ?? new Set()).add(String(column)));
  }
  return tables;
}

async function configure(session: PostgresSession, setting: string, value: unknown): Promise<void> {
  await values(session, "select pg_catalog.set_config(cast($1 as pg_catalog.text), cast($2 as pg_catalog.text), true)", [setting, String(value)]);
}

function values(session: PostgresSession, text: string, params: string[]): Promise<unknown[][]> {
  return session.query(text, params, false);
}
