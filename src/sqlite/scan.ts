/**
 * What no driver tells about a piece of SQL: the names of its parameters, and whether and where it has statements.
 *
 * @module
 */

// Strings, quoted names, comments and words come first, so that a `?`, `:` or `;` inside them is not seen. A doubled
// quote needs no rule: it reads as two strings side by side. `$a::b(c)` is one parameter.
const TOKEN =
  /'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[^]*?(?:\*\/|$)|[\w\x80-\uffff][\w$\x80-\uffff]*|(\?\d*|[:@$](?:[\w$\x80-\uffff]|::)+(?:\([^\s)]*\))?)|(;)/g;

// A comment, or the first character of something else.
const SUBSTANCE = /--[^\n]*|\/\*[^]*?(?:\*\/|$)|[^\s;]/g;

/**
 * The parameters of one statement, numbered as SQLite numbers them.
 *
 * @param sql One statement that SQLite has already accepted.
 * @returns At index 0 the name of parameter 1 with its prefix, and so on; null where a parameter has no name.
 */
export function parametersOf(sql: string): (string | null)[] {
  const names: (string | null)[] = [];
  for (const [, name] of sql.matchAll(TOKEN)) {
    if (name === undefined || names.includes(name)) continue;
    if (name === "?") {
      names.push(null);
    } else if (name.startsWith("?")) {
      const index = Number(name.slice(1)) - 1;
      while (names.length <= index) names.push(null);
      names[index] ??= name;
    } else {
      names.push(name);
    }
  }
  return names;
}

/**
 * The places where the first statement of a text may end. Not all of them are ends: the body of a trigger has `;` too.
 *
 * @param sql Any number of statements.
 * @returns Offsets just after each `;`, ascending.
 */
export function statementEnds(sql: string): number[] {
  const ends: number[] = [];
  for (const match of sql.matchAll(TOKEN)) {
    if (match[2] !== undefined) ends.push(match.index + 1);
  }
  return ends;
}

/** Whether there is a statement in the text, and not only space, `;` and comments. */
export function hasStatement(sql: string): boolean {
  for (const [piece] of sql.matchAll(SUBSTANCE)) {
    if (!piece.startsWith("--") && !piece.startsWith("/*")) return piece !== "\0";
  }
  return false;
}
