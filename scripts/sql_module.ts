/**
 * Writes the TypeScript module that holds the SQL.
 *
 * @module
 */

import type { BaseType, Query, Script, Statement } from "../src/query.ts";
import { type CompiledQuery, compileQueries, compileScripts, type Scripts, type Texts } from "./sql_files.ts";
import type { Field, Header } from "./sql_header.ts";

/** Types of parameters. Columns differ in `json` only. */
const TYPES: Record<BaseType, string> = {
  id: "string",
  int: "number",
  ms: "number",
  bool: "boolean",
  text: "string",
  json: "string",
};

/**
 * Makes the text of `src/sql.gen.ts` from the texts of `sql/`.
 *
 * @throws {Error} If a file breaks a rule, with the file, the line and what to do.
 */
export function generateModule(texts: Texts): string {
  return [
    "// Generated from sql/ by scripts/generate.ts. Do not edit.",
    'import type { Query, Script } from "./query.ts";',
    ...compileQueries(texts).map(writeQuery),
    writeSchemas(compileScripts(texts, "postgres"), compileScripts(texts, "sqlite")),
  ].join("\n\n").concat("\n");
}

function writeQuery({ header, query }: CompiledQuery): string {
  const name = camelCase(query.name);
  const base = name.charAt(0).toUpperCase() + name.slice(1);
  const exec = header.kind === "exec";
  const type = `Query<${base}Params, ${exec ? "never" : `${base}Row`}>`;
  return [
    `/** Parameters of {@linkcode ${name}}. */\n${writeParams(`${base}Params`, header)}`,
    ...(exec ? [] : [`/** A row of {@linkcode ${name}}. */\n${writeInterface(`${base}Row`, header.rows, rowType)}`]),
    `${docComment(header.summary)}\nexport const ${name}: ${type} = ${queryValue(query)};`,
  ].join("\n\n");
}

function writeParams(name: string, { params }: Header): string {
  if (params.length === 0) return `export type ${name} = Record<string, never>;`;
  return writeInterface(name, params, paramType);
}

function writeInterface(name: string, fields: readonly Field[], typeOf: (field: Field) => string): string {
  const lines = fields.map((field) => {
    const doc = field.prose === "" ? "" : `  ${docComment([field.prose])}\n`;
    return `${doc}  ${field.name}: ${typeOf(field)};\n`;
  });
  return `export interface ${name} {\n${lines.join("")}}`;
}

function paramType({ type }: Field): string {
  return TYPES[type.replace("?", "") as BaseType] + (type.endsWith("?") ? " | null" : "");
}

function rowType(field: Field): string {
  return field.type.startsWith("json") ? "unknown" : paramType(field);
}

function queryValue({ name, columns, postgres, sqlite }: Query): string {
  const pairs = columns.map(([column, type]) => `    ["${column}", "${type}"],\n`).join("");
  return [
    "{",
    `  name: "${name}",`,
    `  columns: [${pairs === "" ? "" : `\n${pairs}  `}],`,
    `  postgres: [\n${postgres.map(statementValue).join("")}  ],`,
    `  sqlite: [\n${sqlite.map(statementValue).join("")}  ],`,
    "}",
  ].join("\n");
}

function statementValue({ text, params, rows }: Statement): string {
  const names = params.map((name) => `"${name}"`).join(", ");
  return `    {\n      text: ${template(text)},\n      params: [${names}],\n      rows: ${rows},\n    },\n`;
}

function writeSchemas(postgres: Scripts, sqlite: Scripts): string {
  const adopt = sqlite.adopt === null ? "null" : scriptValue(sqlite.adopt);
  return `/** The tables: the whole of the current schema, and the way there from each version before. */
export const schemas: {
  readonly postgres: { readonly schema: Script; readonly upgrades: readonly Script[] };
  readonly sqlite: { readonly schema: Script; readonly upgrades: readonly Script[]; readonly adopt: Script | null };
} = {
  postgres: {
${scriptsValue(postgres)}  },
  sqlite: {
${scriptsValue(sqlite)}    adopt: ${adopt},
  },
};`;
}

function scriptsValue({ schema, upgrades }: Scripts): string {
  return `    schema: ${scriptValue(schema)},\n    upgrades: [${upgrades.map(scriptValue).join(", ")}],\n`;
}

function scriptValue({ version, text }: Script): string {
  return `{\n      version: ${version},\n      text: ${template(text)},\n    }`;
}

function template(text: string): string {
  return `\`${text.replace(/[\\`]|\$\{/g, "\\$&")}\``;
}

function docComment(lines: readonly string[]): string {
  const [first = "", ...more] = lines.map((line) => line.replaceAll("*/", "*\\/"));
  return more.length === 0 ? `/** ${first} */` : `/**\n${[first, ...more].map((line) => ` * ${line}\n`).join("")} */`;
}

function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
