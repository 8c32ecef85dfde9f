import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { compileQueries, type CompiledQuery, readTexts } from "../../scripts/sql_files.ts";
import { decodeRows } from "../../src/rows.ts";
import type { Opened } from "./backends.ts";
import { installedPostgres } from "./postgres_binaries.ts";

const ROOT = new URL("../../", import.meta.url);

/** Every query with its header, by name. */
export const queries: ReadonlyMap<string, CompiledQuery> = new Map(
  compileQueries(readTexts(ROOT)).map((query) => [query.header.name, query]),
);

export type HandRow = Record<string, unknown>;

/** A database as a person at a terminal has it: the files of `sql/` and the program of the database. */
export interface Shell {
  readonly dialect: "postgres" | "sqlite";
  /** The names of the query files that were run. */
  readonly used: ReadonlySet<string>;
  /** Runs a file of `sql/<dialect>/`, and gives what it had to say: notices, nothing at best. */
  script(name: string): string;
  /** Runs a query file with values for the variables that its header declares; rows as the module would give them. */
  query(name: string, params?: Record<string, unknown>): HandRow[];
  /** Runs a statement of any kind; values as text, or null. */
  sql(text: string): HandRow[];
}

interface Job {
  files?: readonly string[];
  text?: string;
  variables?: readonly (readonly [name: string, literal: string])[];
}

/** The rows of each statement that gave some, and what came on standard error. */
type Run = (job: Job) => { results: HandRow[][]; stderr: string };

/** Why the program cannot be used here, as node:test's `skip` takes it. In CI that is no reason to skip. */
export function missing(program: "psql" | "sqlite3"): string | false {
  if (find(program) !== undefined) return false;
  const message = `The program "${program}" is not on PATH`;
  if (process.env["CI"] === "true") throw new Error(`${message}; CI needs it to run the files of sql/ by hand`);
  return message;
}

/** psql on a database. */
export function psqlShell(url: string): Shell {
  // One result a line, so no value may hold a line break.
  const format = ["-A", "-F", "\x1f", "-R", "\x1e", "-P", "null=\x1a", "-P", "footer=off"];
  return shell("postgres", ({ files = [], text, variables = [] }) => {
    const named = variables.flatMap(([name, literal]) => ["-v", `${name}=${literal}`]);
    const what = [...files.flatMap((file) => ["-f", file]), ...(text === undefined ? [] : ["-c", text])];
    const { stdout, stderr } = execute("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", ...format, ...named, ...what, url], "");
    const results = stdout.split("\n").filter((line) => line !== "").map((line) => {
      const [head = [], ...body] = line.split("\x1e").map((record) => record.split("\x1f"));
      const rows = body.map((cells) => Object.fromEntries(head.map((name, at) => [name, cells[at] === "\x1a" ? null : cells[at]])));
      return Object.assign(rows, { head });
    });
    return { results, stderr };
  });
}

/** The sqlite3 shell on a file. */
export function sqliteShell(path: string): Shell {
  // Its own quotes around SQL's: the shell takes a backslash in "" as C does.
  const quote = (word: string) => `"${word.replace(/[\\"]/g, "\\$&")}"`;
  return shell("sqlite", ({ files = [], text = "", variables = [] }) => {
    const lines = [
      ".mode json",
      ...variables.map(([name, literal]) => `.parameter set :${name} ${quote(literal)}`),
      ...files.map((file) => `.read ${quote(file)}`),
      `${text};`,
    ];
    const { stdout, stderr } = execute("sqlite3", ["-batch", "-bail", "-init", "/dev/null", path], lines.join("\n"));
    const results = stdout.split(/(?<=\])\n(?=\[|$)/).filter((json) => json !== "").map((json) => JSON.parse(json) as HandRow[]);
    return { results, stderr };
  });
}

function shell(dialect: Shell["dialect"], run: Run): Shell {
  const used = new Set<string>();
  const path = (name: string) => fileURLToPath(new URL(`sql/${dialect}/${name}`, ROOT));
  return { dialect, used, script: (name) => run({ files: [path(name)] }).stderr, sql, query };

  function quietly(job: Job): HandRow[][] {
    const { results, stderr } = run(job);
    if (stderr !== "") throw new Error(`Unexpected message: ${stderr}`);
    return results;
  }

  function sql(text: string): HandRow[] {
    const asText = ([name, value]: [string, unknown]) => [name, value === null ? null : String(value)];
    return quietly({ text }).flat().map((row) => Object.fromEntries(Object.entries(row).map(asText)) as HandRow);
  }

  function query(name: string, params: Record<string, unknown> = {}): HandRow[] {
    const compiled = queries.get(name);
    if (compiled === undefined) throw new Error(`There is no query "${name}"`);
    used.add(name);
    const { header, query } = compiled;
    const variables = header.params.map((param) => [param.name, literal(param.type, params[param.name])] as const);
    const results = quietly({ files: [path(`queries/${name}.sql`)], variables });
    const ours = results.filter((rows) => columnsOf(rows) === query.columns.map(([column]) => column).join());
    // What a transaction only locks has other columns, and comes first.
    if (ours.at(-1) !== results.at(-1)) {
      throw new Error(`${name}.sql gave the columns ${columnsOf(results.at(-1))}, its header declares others`);
    }
    return decodeRows(query, ours.flat()) as HandRow[];
  }
}

function columnsOf(rows: (HandRow[] & { head?: string[] }) | undefined): string {
  return (rows?.head ?? Object.keys(rows?.[0] ?? {})).join();
}

/** A value as a person would write it in SQL, by the type that the header declares. */
function literal(type: string, value: unknown): string {
  if (value === undefined) throw new Error(`A value is missing, the header declares ${type}`);
  if (value === null) return "null";
  if (type.startsWith("text")) return quoted(String(value));
  return type.startsWith("json") ? quoted(JSON.stringify(value)) : String(value);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function execute(program: string, args: readonly string[], input: string): { stdout: string; stderr: string } {
  const { status, stdout, stderr, error } = spawnSync(find(program) ?? program, args, { input, encoding: "utf8" });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr || stdout}`);
  return { stdout, stderr };
}

const found = new Map<string, string | undefined>();

function find(program: string): string | undefined {
  if (!found.has(program)) {
    const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...installedPostgres()];
    found.set(program, folders.map((folder) => join(folder, program)).find((file) => existsSync(file) && works(file)));
  }
  return found.get(program);
}

function works(file: string): boolean {
  try {
    execFileSync(file, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The names of a table's columns, in their order. */
export async function columns(place: Opened, table: string): Promise<unknown[]> {
  const text = place.dialect === "sqlite"
    ? `select name from pragma_table_info('${table}')`
    : `select attname::text as name from pg_attribute where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped order by attnum`;
  return (await place.sql(text)).map(({ name }) => name);
}

/** Everything that a script makes, a line each. */
export async function catalog(place: Opened): Promise<string[]> {
  if (place.dialect === "postgres") return postgresCatalog(place.connection as postgres.Sql, String(place.schema));
  // A script that is run by hand leaves its comments in the schema.
  const plain = (sql: unknown) => String(sql).replaceAll(/--.*/g, "").replaceAll(/\s+/g, " ").replaceAll(" ,", ",");
  const made = await place.sql("select type, name, sql from sqlite_schema where sql is not null and name not like 'sqlite_%'");
  const fields = await place.sql(`select t.name || ' ' || c.cid, c.*
    from sqlite_schema as t join pragma_table_info(t.name) as c where t.type = 'table'`);
  const lines = [...made.map(({ type, name, sql }) => [type, name, plain(sql)]), ...fields.map((field) => Object.values(field))];
  return lines.map((line) => line.join(" | ")).sort();
}

/** The same of any schema. */
export async function postgresCatalog(sql: postgres.Sql, schema: string): Promise<string[]> {
  const rows = await sql.unsafe(`
    with t as (select oid, relname, reloptions, relkind from pg_class where relnamespace = '"${schema}"'::regnamespace)
    select 'table', relname::text, relkind::text, reloptions::text, null from t
    union all
    select 'column', relname || a.attnum, attname,
      format_type(atttypid, atttypmod) || coalesce(attstattarget, -1)::text || attidentity::text,
      attnotnull || coalesce(pg_get_expr(adbin, adrelid), '')
    from t join pg_attribute a on attrelid = t.oid and attnum > 0 and not attisdropped
    left join pg_attrdef on adrelid = t.oid and adnum = attnum
    where relkind = 'r'
    union all
    select 'index', relname, pg_get_indexdef(oid), null, null from t where relkind = 'i'
    union all
    select 'constraint', conname, pg_get_constraintdef(oid), null, null
    from pg_constraint where connamespace = '"${schema}"'::regnamespace
    union all
    select 'sequence', sequencename, data_type::text, increment_by::text || min_value || max_value || cycle || cache_size, null
    from pg_sequences where schemaname = '${schema}'`).values();
  return rows.map((row) => row.join(" | ").replaceAll(`"${schema}"`, "SCHEMA")).sort();
}
