/**
 * Splits files into statements, and tells what kind of statement each is.
 *
 * @module
 */

import { type Dialect, errorAt, isWord, type SqlFile, type Token, tokenize } from "./sql_tokens.ts";

/** The tokens of one statement, without its `;`. Never empty. */
export type StatementTokens = readonly [Token, ...Token[]];

/** What is put in the place of a token. */
export type Rewrite = (file: SqlFile, statement: StatementTokens, token: Token, index: number) => string;

interface Body {
  readonly statements: readonly StatementTokens[];
  /** Whether the statements stood between `begin;` and `commit;`. */
  readonly transaction: boolean;
}

const OPENING: Record<Dialect, string> = { postgres: "begin", sqlite: "begin immediate" };
const TRANSACTION_WORDS = ["begin", "commit", "end", "rollback", "start"];
const VERBS = ["select", "values", "insert", "update", "delete", "merge"];

/** The statements of a query file: one, or those of one transaction. */
export function queryBody(file: SqlFile): readonly StatementTokens[] {
  const { statements, transaction } = peelTransaction(file, splitStatements(file));
  const [first, second] = statements;
  if (first === undefined) throw errorAt(file, file.text.length, "No statement found, write one after the header");
  for (const statement of statements) refuseTransactionWord(file, statement);
  if (second !== undefined && !transaction) {
    const opening = OPENING[file.dialect];
    const message = `Second statement found, give it a file of its own, or write both between ${opening}; and commit;`;
    throw errorAt(file, second[0].at, message);
  }
  return statements;
}

/** The text of a script of several statements, without its comments and its outer `begin;` and `commit;`. */
export function scriptText(file: SqlFile, rewrite: Rewrite): string {
  const { statements } = peelTransaction(file, splitStatements(file));
  // A trigger of SQLite has `;` inside, so that its `end` looks like a statement. It is not looked at here.
  const inner = statements.find(([first]) => isWord(first, "begin", "commit", "rollback", "start"));
  if (inner !== undefined) refuseTransactionWord(file, inner);
  const texts = statements.map((tokens) => render(tokens, (token, index) => rewrite(file, tokens, token, index)));
  return statements.map(([first], place) => `${first.gap}${texts[place]};`).join("").trimStart();
}

/** The text of some tokens as written, less comments and blank lines. */
export function render(tokens: StatementTokens, rewrite: (token: Token, index: number) => string): string {
  return tokens.map((token, index) => (index === 0 ? "" : token.gap) + rewrite(token, index)).join("");
}

/** Whether a statement by itself gives rows: it reads, or returns what it wrote. */
export function givesRows(statement: StatementTokens): boolean {
  const verb = isWord(statement[0], "with") ? statement.find((token) => atTop(token, ...VERBS)) : statement[0];
  return isWord(verb, "select", "values") || statement.some((token) => atTop(token, "returning"));
}

/** Whether a statement is a `select .. for update` or alike. */
export function locksRows(statement: StatementTokens): boolean {
  return isWord(statement[0], "select") && statement.some((token, index) => {
    if (!atTop(token, "for")) return false;
    const [first, second, third] = statement.slice(index + 1);
    return (
      isWord(first, "update", "share") ||
      (isWord(first, "key") && isWord(second, "share")) ||
      (isWord(first, "no") && isWord(second, "key") && isWord(third, "update"))
    );
  });
}

function atTop(token: Token, ...words: readonly string[]): boolean {
  return token.depth === 0 && isWord(token, ...words);
}

function splitStatements(file: SqlFile): StatementTokens[] {
  const statements: StatementTokens[] = [];
  let current: Token[] = [];
  for (const token of tokenize(file)) {
    if (token.text !== ";") {
      current.push(token);
      continue;
    }
    const [first, ...rest] = current;
    if (first === undefined) throw errorAt(file, token.at, 'Nothing to end here, remove the ";"');
    statements.push([first, ...rest]);
    current = [];
  }
  const [unended] = current;
  if (unended !== undefined) throw errorAt(file, unended.at, 'Statement has no end, write ";" after it');
  return statements;
}

function peelTransaction(file: SqlFile, statements: readonly StatementTokens[]): Body {
  const [first] = statements;
  if (first === undefined || !isWord(first[0], "begin")) return { statements, transaction: false };
  const opening = words(first);
  const expected = OPENING[file.dialect];
  if (opening !== expected) {
    throw errorAt(file, first[0].at, `Write "${expected};" to open the transaction, got "${opening};"`);
  }
  const last = statements.at(-1);
  if (last === undefined || words(last) !== "commit") {
    throw errorAt(file, first[0].at, `Transaction has no end, write "commit;" as the last statement`);
  }
  return { statements: statements.slice(1, -1), transaction: true };
}

function refuseTransactionWord(file: SqlFile, [first]: StatementTokens): void {
  if (!isWord(first, ...TRANSACTION_WORDS)) return;
  const message = `Unexpected "${first.text}", only the first statement opens a transaction and the last ends it`;
  throw errorAt(file, first.at, message);
}

function words(statement: StatementTokens): string {
  return statement.map((token) => token.text.toLowerCase()).join(" ");
}
