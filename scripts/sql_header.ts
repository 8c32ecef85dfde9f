/**
 * Reads the comment that opens a query file: what the query is called, what it takes and what it gives.
 *
 * @module
 */

import type { ColumnType } from "../src/query.ts";
import { errorAtLine, type SqlFile } from "./sql_tokens.ts";

export type Kind = "one" | "many" | "exec";

/** A `param:` or `row:` line. */
export interface Field {
  readonly name: string;
  readonly type: ColumnType;
  /** The prose after the type. */
  readonly prose: string;
  readonly line: number;
}

export interface Header {
  readonly name: string;
  readonly kind: Kind;
  /** The first paragraph, line by line. */
  readonly summary: readonly string[];
  readonly params: readonly Field[];
  readonly rows: readonly Field[];
  /** The lines that both dialects share. */
  readonly lines: readonly string[];
}

const NAME_LINE = /^-- name: ([a-z][a-z0-9_]*) :(one|many|exec)$/;
const FIELD_LIKE = /^--\s*(?:name|param|row)s?\s*:/i;
const FIELD_LINE = /^-- (param|row):\s+(\S+)\s+(\S+)(?:\s+(.*))?$/;
const FIELD_NAME = /^[a-z][a-z0-9_]*$/;
const CONTINUATION = /^--\s{2,}(\S.*)$/;
const NOTE = "-- In this dialect:";
const TYPES: readonly string[] = ["id", "int", "ms", "bool", "text", "json"];
const KEYWORDS: readonly string[] = (
  "all and any as asc by case cast check column create current default delete desc distinct do else end except " +
  "exists for from full group having in index insert intersect into is join left like limit not null of offset on " +
  "only or order outer primary references returning right select set table then to union unique update user using " +
  "values when where window with"
).split(" ");

export function readHeader(file: SqlFile): Header {
  const block = commentBlock(file.text);
  const [, name, kind] = NAME_LINE.exec(block[0] ?? "") ?? [];
  if (name === undefined || kind === undefined) {
    throw errorAtLine(file, 1, 'First line must be "-- name: <lower_snake_case> :one", ":many" or ":exec"');
  }
  if (!file.path.endsWith(`/${name}.sql`)) throw errorAtLine(file, 1, `Name "${name}" must be the name of the file`);

  const lines = sharedLines(block);
  refuseFields(file, block, lines.length);
  const params = readFields(file, lines, "param");
  const rows = readFields(file, lines, "row");
  refuseKeywords(file, params);
  if (kind === "exec" && rows[0] !== undefined) {
    const message = `Row "${rows[0].name}" is declared, but the query is :exec; remove it, or say :one or :many`;
    throw errorAtLine(file, rows[0].line, message);
  }
  if (kind !== "exec" && rows.length === 0) {
    throw errorAtLine(file, 1, `Query is :${kind}, but no row is declared; add "-- row:" lines, or say :exec`);
  }
  return { name, kind: kind as Kind, summary: readSummary(file, lines), params, rows, lines };
}

/** Throws where the headers of the two dialects part. */
export function compareHeaders(a: SqlFile, b: SqlFile, aLines: readonly string[], bLines: readonly string[]): void {
  for (let index = 0; index < Math.max(aLines.length, bLines.length); index++) {
    const [aLine = "(nothing)", bLine = "(nothing)"] = [aLines[index], bLines[index]];
    if (aLine === bLine) continue;
    const line = index + 1;
    throw errorAtLine(
      b,
      line,
      `Header differs from ${a.path}:${line}; make them equal, or move what differs to the end, after "${NOTE}"\n` +
        `  ${a.path}: ${aLine}\n  ${b.path}: ${bLine}`,
    );
  }
}

function commentBlock(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trimEnd());
  const end = lines.findIndex((line) => !line.startsWith("--"));
  return end < 0 ? lines : lines.slice(0, end);
}

function sharedLines(block: readonly string[]): string[] {
  const note = block.findIndex((line) => line.startsWith(NOTE));
  const lines = note < 0 ? [...block] : block.slice(0, note);
  while (lines.at(-1) === "--") lines.pop();
  return lines;
}

function refuseFields(file: SqlFile, block: readonly string[], from: number): void {
  const index = block.findIndex((line, at) => at >= from && FIELD_LIKE.test(line));
  if (index >= 0) throw errorAtLine(file, index + 1, `"${block[index]}" must stand before "${NOTE}"`);
}

function readSummary(file: SqlFile, lines: readonly string[]): string[] {
  const prose = lines.slice(1);
  const start = prose.findIndex((line) => line !== "--");
  const length = start < 0 ? 0 : prose.slice(start).findIndex((line) => line === "--" || FIELD_LIKE.test(line));
  if (start < 0 || length === 0) throw errorAtLine(file, 2, "Header has no prose, say what the query does");
  return prose.slice(start, length < 0 ? undefined : start + length).map((line) => line.replace(/^-- ?/, ""));
}

function readFields(file: SqlFile, lines: readonly string[], wanted: "param" | "row"): Field[] {
  const fields: Field[] = [];
  for (const [index, text] of lines.entries()) {
    if (index === 0 || !FIELD_LIKE.test(text)) continue;
    const line = index + 1;
    const [, role, name, type, prose = ""] = FIELD_LINE.exec(text) ?? [];
    if (name === undefined || type === undefined) {
      throw errorAtLine(file, line, `Cannot read "${text}", write "-- param: name type" or "-- row: name type"`);
    }
    if (role !== wanted) continue;
    if (!FIELD_NAME.test(name)) throw errorAtLine(file, line, `Name "${name}" must be lower_snake_case`);
    if (!isType(type)) {
      const message = `Unknown type "${type}", use one of ${TYPES.join(", ")}, with "?" if it may be null`;
      throw errorAtLine(file, line, message);
    }
    if (fields.some((field) => field.name === name)) {
      throw errorAtLine(file, line, `Duplicate ${role} "${name}", remove one`);
    }
    fields.push({ name, type, line, prose: [prose, ...continuation(lines, index + 1)].join(" ").trim() });
  }
  return fields;
}

function continuation(lines: readonly string[], from: number): string[] {
  const prose = CONTINUATION.exec(lines[from] ?? "")?.[1];
  return prose === undefined ? [] : [prose, ...continuation(lines, from + 1)];
}

function refuseKeywords(file: SqlFile, params: readonly Field[]): void {
  const param = params.find(({ name }) => KEYWORDS.includes(name));
  if (param !== undefined) {
    const message = `Parameter "${param.name}" is an SQL keyword, which formatters change; choose another name`;
    throw errorAtLine(file, param.line, message);
  }
}

function isType(type: string): type is ColumnType {
  return TYPES.includes(type.replace(/\?$/, ""));
}
