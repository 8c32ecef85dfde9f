/**
 * Cuts SQL into tokens, so that nothing in a string, a quoted name or a comment is ever taken for code.
 *
 * @module
 */

export type Dialect = "postgres" | "sqlite";

/** A file of `sql/`, with its line ends made LF and without a byte order mark. */
export interface SqlFile {
  readonly path: string;
  readonly dialect: Dialect;
  readonly text: string;
}

/** `foreign` is a parameter in another style than `:name`. A `symbol` is one character, or `::`. */
export type TokenKind = "word" | "quoted" | "string" | "dollar" | "param" | "foreign" | "number" | "symbol";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
  /** How many parentheses are open around it. */
  readonly depth: number;
  /** What is kept of the whitespace and comments before it: blanks, or one line end and the indentation. */
  readonly gap: string;
}

type Rule = readonly [kind: TokenKind, pattern: RegExp];
type Quote = readonly [kind: TokenKind, open: RegExp, whole: RegExp];

const BLANK = /[ \t\n\f\v]+/y;
const INDENTATION = /[ \t]*/y;
const LINE_COMMENT = /--[^\n]*/y;
const STRING: Quote = ["string", /'/y, /'[^']*(?:''[^']*)*'/y];
const QUOTED_NAME: Quote = ["quoted", /"/y, /"[^"]*(?:""[^"]*)*"/y];

const QUOTES: Record<Dialect, readonly Quote[]> = {
  postgres: [
    STRING,
    ["string", /e'/iy, /e'(?:[^'\\]|\\[^]|'')*'/iy],
    QUOTED_NAME,
    ["dollar", /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy, /(\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$)[^]*?\1/uy],
  ],
  sqlite: [STRING, QUOTED_NAME, ["quoted", /`/y, /`[^`]*(?:``[^`]*)*`/y], ["quoted", /\[/y, /\[[^\]]*\]/y]],
};

const FOREIGN: Record<Dialect, Rule> = {
  postgres: ["foreign", /\$\d+/y],
  sqlite: ["foreign", /\?\d*|[@$][\p{L}\p{N}_]+/uy],
};

const RULES: readonly Rule[] = [
  ["param", /:[\p{L}_][\p{L}\p{N}_$]*/uy],
  ["word", /[\p{L}_][\p{L}\p{N}_$]*/uy],
  ["number", /\d[\w.]*/y],
  ["symbol", /::|[^]/uy],
];

/** Stands for a comment while a gap is read. No SQL can hold it. */
const COMMENT = "\0";

export function sqlFile(path: string, dialect: Dialect, text: string): SqlFile {
  return { path, dialect, text: text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n") };
}

export function errorAtLine(file: SqlFile, line: number, message: string): Error {
  return new Error(`${file.path}:${line}: ${message}`);
}

export function errorAt(file: SqlFile, offset: number, message: string): Error {
  return errorAtLine(file, file.text.slice(0, offset).split("\n").length, message);
}

/** The tokens of a file, without its comments. Each `;` stands outside of parentheses. */
export function tokenize(file: SqlFile): Token[] {
  const tokens: Token[] = [];
  const open: Token[] = [];
  for (let next = readGap(file, 0); next.end < file.text.length; ) {
    const { gap, end: at } = next;
    const [kind, text] = readToken(file, at);
    if (text === ")" && open.pop() === undefined) throw errorAt(file, at, 'Unexpected ")"');
    const token: Token = { kind, text, at, depth: open.length, gap };
    if (text === ";") refuseOpen(file, open);
    if (text === "(") open.push(token);
    tokens.push(token);
    next = readGap(file, at + text.length);
  }
  refuseOpen(file, open);
  return tokens;
}

/** Whether a token is one of some keywords, given in lower case. */
export function isWord(token: Token | undefined, ...words: readonly string[]): boolean {
  return token?.kind === "word" && words.includes(token.text.toLowerCase());
}

function refuseOpen(file: SqlFile, open: readonly Token[]): void {
  const last = open.at(-1);
  if (last !== undefined) throw errorAt(file, last.at, 'Unclosed "("');
}

function readToken(file: SqlFile, at: number): [TokenKind, string] {
  for (const [kind, open, whole] of QUOTES[file.dialect]) {
    const opening = matchAt(open, file.text, at);
    if (opening === undefined) continue;
    const text = matchAt(whole, file.text, at);
    if (text === undefined) throw errorAt(file, at, `Unterminated ${kind}, opened by ${opening}`);
    return [kind, text];
  }
  for (const [kind, pattern] of [FOREIGN[file.dialect], ...RULES]) {
    const text = matchAt(pattern, file.text, at);
    if (text !== undefined) return [kind, text];
  }
  throw errorAt(file, at, "Cannot read on from here");
}

function readGap(file: SqlFile, start: number): { gap: string; end: number } {
  let layout = "";
  for (let at = start; ; ) {
    const blank = matchAt(BLANK, file.text, at);
    const skipped = blank ?? readComment(file, at);
    if (skipped === undefined) return { gap: tidyGap(layout), end: at };
    layout += blank ?? COMMENT;
    at += skipped.length;
  }
}

function readComment(file: SqlFile, at: number): string | undefined {
  if (!file.text.startsWith("/*", at)) return matchAt(LINE_COMMENT, file.text, at);
  let depth = 1;
  for (const mark of file.text.slice(at + 2).matchAll(/\/\*|\*\//g)) {
    if (mark[0] === "*/") depth--;
    // Comments nest in Postgres only.
    else if (file.dialect === "postgres") depth++;
    if (depth === 0) return file.text.slice(at, at + 2 + mark.index + 2);
  }
  throw errorAt(file, at, "Unterminated comment, opened by /*");
}

function tidyGap(layout: string): string {
  const lineEnd = layout.lastIndexOf("\n");
  if (lineEnd >= 0) return `\n${matchAt(INDENTATION, layout, lineEnd + 1)}`;
  return layout.includes(COMMENT) ? " " : layout;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
