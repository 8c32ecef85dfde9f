/**
 * Finds the files of `sql/` and pairs those of the two dialects.
 *
 * @module
 */

import { readdirSync, readFileSync } from "node:fs";
import type { Query, Script } from "../src/query.ts";
import { compileQuery } from "./sql_compile.ts";
import { compareHeaders, type Header, readHeader } from "./sql_header.ts";
import { scriptText } from "./sql_statements.ts";
import { qualifyDefinition } from "./sql_tables.ts";
import { type Dialect, errorAtLine, type SqlFile, sqlFile } from "./sql_tokens.ts";

/** Texts by path from the root of the repository, such as `sql/sqlite/schema.sql`. */
export type Texts = ReadonlyMap<string, string>;

export interface CompiledQuery {
  readonly header: Header;
  readonly query: Query;
}

export interface Scripts {
  readonly schema: Script;
  readonly upgrades: readonly Script[];
  readonly adopt: Script | null;
}

const VERSION_LINE = /^-- version: ([1-9]\d*)$/m;
const UPGRADE_NAME = /\/(\d{4})_\w+\.sql$/;

/** Reads all `.sql` files under `sql/` of a repository. */
export function readTexts(root: URL): Texts {
  const paths = readdirSync(new URL("sql/", root), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".sql"))
    .map((path) => `sql/${path.replaceAll("\\", "/")}`);
  return new Map(paths.sort().map((path) => [path, readFileSync(new URL(path, root), "utf8")]));
}

/** All queries, by name. */
export function compileQueries(texts: Texts): CompiledQuery[] {
  const postgres = filesIn(texts, "postgres", "queries");
  const sqlite = filesIn(texts, "sqlite", "queries");
  for (const file of sqlite) twinOf(file, postgres);
  return postgres.map((file) => compilePair(file, twinOf(file, sqlite)));
}

export function compileScripts(texts: Texts, dialect: Dialect): Scripts {
  const path = `sql/${dialect}/schema.sql`;
  const file = sqlFile(path, dialect, texts.get(path) ?? "");
  if (!texts.has(path)) throw new Error(`${path}: No such file, write the schema of the dialect there`);
  const version = Number(VERSION_LINE.exec(file.text)?.[1]);
  if (Number.isNaN(version)) throw errorAtLine(file, 1, 'Schema has no version, add a line "-- version: 1"');
  const adoptPath = `sql/${dialect}/adopt.sql`;
  const adopt = texts.get(adoptPath);
  return {
    schema: { version, text: textOf(file) },
    upgrades: compileUpgrades(filesIn(texts, dialect, "upgrades"), file, version),
    adopt: adopt === undefined ? null : { version, text: textOf(sqlFile(adoptPath, dialect, adopt)) },
  };
}

function compilePair(postgres: SqlFile, sqlite: SqlFile): CompiledQuery {
  const header = readHeader(postgres);
  compareHeaders(postgres, sqlite, header.lines, readHeader(sqlite).lines);
  const query = {
    name: header.name,
    columns: header.rows.map(({ name, type }) => [name, type] as const),
    postgres: compileQuery(postgres, header),
    sqlite: compileQuery(sqlite, header),
  };
  return { header, query };
}

function compileUpgrades(files: readonly SqlFile[], schema: SqlFile, version: number): Script[] {
  const upgrades = files.map((file, index) => {
    const found = UPGRADE_NAME.exec(file.path)?.[1];
    const wanted = String(index + 2).padStart(4, "0");
    if (found === wanted) return { version: index + 2, text: textOf(file) };
    throw errorAtLine(file, 1, `File must be called ${wanted}_<name>.sql, upgrades go from version 2 on without a gap`);
  });
  const last = upgrades.length + 1;
  if (last === version) return upgrades;
  throw errorAtLine(schema, 1, `Schema has version ${version}, but the upgrades lead to ${last}; make them agree`);
}

function filesIn(texts: Texts, dialect: Dialect, folder: "queries" | "upgrades"): SqlFile[] {
  const prefix = `sql/${dialect}/${folder}/`;
  const found = [...texts].filter(([path]) => path.startsWith(prefix) && path.endsWith(".sql"));
  return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, text]) => sqlFile(path, dialect, text));
}

function twinOf(file: SqlFile, others: readonly SqlFile[]): SqlFile {
  const name = nameOf(file.path);
  const twin = others.find(({ path }) => nameOf(path) === name);
  if (twin !== undefined) return twin;
  const other = file.dialect === "postgres" ? "sqlite" : "postgres";
  throw errorAtLine(file, 1, `Query is missing in the other dialect, write sql/${other}/queries/${name}`);
}

// On Postgres a script goes to the first schema of the search_path, which the backend sets.
function textOf(file: SqlFile): string {
  return scriptText(file, file.dialect === "sqlite" ? qualifyDefinition : (_, __, token) => token.text);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
