import { isWord, type Token } from "./sql_tokens.ts";
import type { StatementTokens } from "./sql_statements.ts";

// Names of types that are no keywords. No column is called like one of them.
const TYPES: readonly string[] = ["text", "jsonb", "timestamptz", "regclass"];

// Before a parenthesis, and yet no function.
const KEYWORDS: readonly string[] = [
  ...["all", "and", "any", "array", "as", "between", "by", "case", "cast", "coalesce", "distinct", "else", "exists", "extract", "filter", "from"],
  ...["greatest", "having", "in", "is", "key", "lateral", "least", "limit", "not", "nullif", "on", "or", "over", "row", "select", "set", "some"],
  ...["then", "using", "values", "when", "where", "with", "within"],
];

/**
 * Names the functions and types of Postgres with their schema. A function of the same name with types that fit better would
 * be called in their place, wherever it is in the search_path; and any of them, if pg_catalog is listed after its schema.
 */
export function qualifySystemName(statement: StatementTokens, token: Token, index: number): string {
  if (token.kind !== "word" || statement[index - 1]?.text === ".") return token.text;
  const next = statement[index + 1];
  const isCalled = next?.text === "(" && next.gap === "" && !isWord(token, ...KEYWORDS);
  const isType = isWord(token, ...TYPES) && next?.text !== ".";
  return isCalled || isType ? `pg_catalog.${token.text}` : token.text;
}
