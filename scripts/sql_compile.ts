/**
 * Compiles the statements of a query file into what a driver is given.
 *
 * @module
 */

import type { Statement } from "../src/query.ts";
import type { Header } from "./sql_header.ts";
import { givesRows, locksRows, queryBody, render, type StatementTokens } from "./sql_statements.ts";
import { qualifySystemName } from "./sql_system_names.ts";
import { isTable, qualifyLiteral, qualifyTable } from "./sql_tables.ts";
import { errorAt, errorAtLine, isWord, type SqlFile, type Token } from "./sql_tokens.ts";

export function compileQuery(file: SqlFile, header: Header): Statement[] {
  const statements = queryBody(file);
  const compiled = statements.map((statement, index) => {
    refuseForeign(file, statement);
    if (file.dialect === "sqlite") refuseStar(file, statement);
    // Locks that later statements rely on: those are the ones that give the rows.
    const onlyLocks = index < statements.length - 1 && locksRows(statement);
    const rows = header.kind !== "exec" && givesRows(statement) && !onlyLocks;
    return { ...(file.dialect === "postgres" ? compilePostgres(file, statement) : compileSqlite(file, statement)), rows };
  });
  if (header.kind !== "exec" && !compiled.some(({ rows }) => rows)) {
    throw errorAtLine(file, 1, `Query is :${header.kind}, but no statement gives rows; say :exec, or return some`);
  }
  checkParams(file, header, statements.flat());
  return compiled;
}

function compileSqlite(file: SqlFile, statement: StatementTokens): Omit<Statement, "rows"> {
  const text = render(statement, (token, index) => isTable(file, token) ? qualifyTable(file, statement, token, index) : token.text);
  return { text, params: paramNames(statement) };
}

function compilePostgres(file: SqlFile, statement: StatementTokens): Omit<Statement, "rows"> {
  const params = paramNames(statement);
  const text = render(statement, (token, index) => {
    // Passed as text whatever it is, so that no driver's own idea of the type changes the value.
    if (token.kind === "param") return `cast($${params.indexOf(nameOf(token)) + 1} as pg_catalog.text)`;
    if (token.kind === "string") return qualifyLiteral(file, statement, token, index);
    if (isTable(file, token)) return qualifyTable(file, statement, token, index);
    return qualifySystemName(statement, token, index);
  });
  return { text, params };
}

function refuseForeign(file: SqlFile, statement: StatementTokens): void {
  for (const [index, token] of statement.entries()) {
    if (token.text === "::") throw errorAt(file, token.at, 'Unexpected "::", write cast(.. as ..)');
    if (token.text === ":" || (token.kind === "param" && touches(statement[index - 1], token))) {
      throw errorAt(file, token.at, 'Unexpected ":", keep it for parameters: no ":=", no slices, no :\'name\'');
    }
    if (token.kind === "foreign") {
      throw errorAt(file, token.at, `Unexpected "${token.text}", write parameters as :name`);
    }
  }
}

/** The caller's `pragma full_column_names` would decide what the columns of a `*` are called. */
function refuseStar(file: SqlFile, statement: StatementTokens): void {
  const star = statement.find(({ text }, index) => {
    const previous = statement[index - 1];
    return text === "*" && (previous?.text === "." || previous?.text === "," || isWord(previous, "select", "distinct", "returning"));
  });
  if (star !== undefined) throw errorAt(file, star.at, 'Unexpected "*", name the columns');
}

/** Whether a value ends where the parameter begins, as in `a[1:n]`. */
function touches(previous: Token | undefined, param: Token): boolean {
  if (previous === undefined || param.gap !== "") return false;
  return previous.kind !== "symbol" || previous.text === ")" || previous.text === "]";
}

function checkParams(file: SqlFile, { params }: Header, tokens: readonly Token[]): void {
  const used = tokens.filter(({ kind }) => kind === "param");
  const undeclared = used.find((token) => !params.some(({ name }) => name === nameOf(token)));
  if (undeclared !== undefined) {
    const name = nameOf(undeclared);
    throw errorAt(file, undeclared.at, `Undeclared parameter "${name}", add "-- param: ${name} <type>" to the header`);
  }
  const unused = params.find(({ name }) => !used.some((token) => nameOf(token) === name));
  if (unused !== undefined) {
    throw errorAtLine(file, unused.line, `Unused parameter "${unused.name}", use it or remove it from the header`);
  }
}

function paramNames(statement: StatementTokens): string[] {
  return [...new Set(statement.filter(({ kind }) => kind === "param").map(nameOf))];
}

function nameOf(param: Token): string {
  return param.text.slice(1);
}
