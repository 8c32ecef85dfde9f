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

function describe(thrown: unknown): string {
  const message = attempt(() => (thrown as Error).message);
  if (message === undefined) {
    return attempt(() => typeof thrown === "object" ? JSON.stringify(thrown) : undefined) ??
      attempt(() => String(thrown)) ?? "something that cannot be read";
  }
  const stack = attempt(() => (thrown as Error).stack) ?? "";
  if (stack.includes(message)) return stack;
  const name = attempt(() => (thrown as Error).name) ?? "Error";
  return `${name}: ${message}\n${stack}`.trim();
}

// Anything can be thrown, also what throws when it is looked at.
function attempt(read: () => unknown): string | undefined {
  try {
    const value = read();
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
