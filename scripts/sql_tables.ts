/**
 * Names the tables with their schema, so that no other table of the same name is ever meant: on Postgres one that the
 * search_path finds first, on SQLite one that is temporary or in an attached database.
 *
 * @module
 */

import type { StatementTokens } from "./sql_statements.ts";
import { errorAt, isWord, type SqlFile, type Token } from "./sql_tokens.ts";

const OURS: readonly string[] = ["workflows", "workflow_attempts", "skiplocked_schema"];
const TABLES = { postgres: OURS, sqlite: [...OURS, "sqlite_sequence"] };
// What the backend replaces on Postgres; what SQLite calls the file that the handle was opened on.
const SCHEMA = { postgres: '"@schema"', sqlite: "main" };

const BEFORE_TABLE = ["from", "join", "into", "update", "table", "only", "using"];
const REGCLASS_FUNCTIONS = ["currval", "nextval", "pg_get_serial_sequence", "setval", "to_regclass"];
const RELATION_LITERAL = new RegExp(`^'((?:${OURS.join("|")})(?:_\\w+_seq)?)'$`);

/** Whether a word is the name of a table, if it names anything. */
export function isTable(file: SqlFile, token: Token): boolean {
  return isWord(token, ...TABLES[file.dialect]);
}

/** A word that may be a table, with its schema if it is one. */
export function qualifyTable(file: SqlFile, statement: StatementTokens, token: Token, index: number): string {
  const previous = statement[index - 1];
  // With a dot after it, it says whose column: also in `extract(epoch from workflows.created_at)`.
  if (statement[index + 1]?.text === "." || previous?.text === "." || isWord(previous, "as", "of")) return token.text;
  if (isWord(previous, ...BEFORE_TABLE)) return `${SCHEMA[file.dialect]}.${token.text}`;
  const message =
    `Cannot tell whether "${token.text}" is the table: write it right after ${BEFORE_TABLE.join(", ")}, ` +
    "and call no CTE like it";
  throw errorAt(file, token.at, message);
}

/** A string of Postgres that may be the name of a table or sequence. */
export function qualifyLiteral(file: SqlFile, statement: StatementTokens, token: Token, index: number): string {
  const relation = RELATION_LITERAL.exec(token.text)?.[1];
  if (relation === undefined) return token.text;
  const cast = isWord(statement[index + 1], "as") && isWord(statement[index + 2], "regclass");
  const argument = statement[index - 1]?.text === "(" && isWord(statement[index - 2], ...REGCLASS_FUNCTIONS);
  if (cast || argument) return `E'"@schema-literal".${relation}'`;
  const message = `Cannot tell whether ${token.text} is the relation, write cast(${token.text} as regclass)`;
  throw errorAt(file, token.at, message);
}

/** A token of a statement of SQLite that makes or changes tables. */
export function qualifyDefinition(file: SqlFile, statement: StatementTokens, token: Token, index: number): string {
  const [previous, before] = [statement[index - 1], statement[index - 2]];
  if (token.kind === "string" && previous?.text === "(" && /^pragma_/i.test(before?.text ?? "")) {
    return statement[index + 1]?.text === ")" ? `${token.text}, '${SCHEMA.sqlite}'` : token.text;
  }
  if (isWord(statement[0], "create", "drop")) {
    if (index === nameAt(statement)) return `${SCHEMA.sqlite}.${token.text}`;
    // An index lies where its table lies, and takes no other.
    if (isWord(previous, "on")) return token.text;
  }
  return isTable(file, token) ? qualifyTable(file, statement, token, index) : token.text;
}

/** Where the name of what is created or dropped stands: `create unique index if not exists name`. */
function nameAt(statement: StatementTokens): number {
  return statement.findIndex((token) => !isWord(token, "create", "drop", "unique", "table", "index", "trigger", "view", "if", "not", "exists"));
}
