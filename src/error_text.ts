// Enough for any stack; a row is no log file.
const MAX_LENGTH = 10_000;

/**
 * The text of what a handler threw, whatever that was, as far as it can be stored: NUL and lone surrogates replaced, and no
 * longer than 10,000 characters.
 */
export function errorText(thrown: unknown): string | null {
  if (thrown === undefined || thrown === null) return null;
  return describe(thrown).slice(0, MAX_LENGTH).replaceAll("\0", "\ufffd").replace(LONE_SURROGATES, "\ufffd");
}

const LONE_SURROGATES = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

// Anything can be thrown, also what throws when it is looked at.
function describe(thrown: unknown): string {
  try {
    if (!isErrorLike(thrown)) return typeof thrown === "object" ? JSON.stringify(thrown) ?? String(thrown) : String(thrown);
    const headline = `${thrown.name}: ${thrown.message}`;
    const stack = typeof thrown.stack === "string" ? thrown.stack : "";
    return stack.includes(thrown.message) ? stack : `${headline}\n${stack}`.trim();
  } catch {
    return "an error that cannot be read";
  }
}

function isErrorLike(thrown: unknown): thrown is Error {
  return typeof thrown === "object" && thrown !== null && typeof (thrown as Error).message === "string";
}
