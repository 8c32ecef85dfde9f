/**
 * JSON as it is stored.
 *
 * @module
 */

import { show } from "./arguments.ts";
import { SkiplockedError } from "./errors.ts";

// SQLite reads JSON up to a depth of 1,000, and the list of work adds to it.
const MAX_DEPTH = 900;

/**
 * The text of a value as `JSON.stringify` gives it; null for null, undefined, and what gives nothing.
 *
 * @param action What cannot be done if it is refused.
 * @param argument Where the value was given.
 * @throws {SkiplockedError} `invalid_argument` for what JSON or a database cannot carry.
 */
export function encodeJson(action: string, argument: string, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  let fault: SkiplockedError | undefined;
  let json: string | undefined;
  try {
    json = JSON.stringify(value, (key, part: unknown) => {
      const refused = refusal(part);
      if (refused !== undefined) throw fault = refuse(action, key === "" ? argument : `${argument} … ${key.slice(0, 80)}`, refused, part);
      return part;
    });
  } catch (error) {
    if (fault !== undefined) throw fault;
    throw Object.assign(refuse(action, argument, "a value that JSON can carry, without cycles", value), { cause: error });
  }
  if (json === undefined || json === "null") return null;
  if (hasUnstorableEscape(json)) throw refuse(action, argument, "JSON without NUL and lone surrogates in its text", value);
  if (depth(json) > MAX_DEPTH) throw refuse(action, argument, `nested no deeper than ${MAX_DEPTH}`, value);
  return json;
}

// What is in a payload may be a secret, and messages go to logs.
function refuse(action: string, argument: string, wanted: string, value: unknown): SkiplockedError {
  const got = typeof value === "string" ? `a string of ${value.length} characters` : typeof value === "bigint" ? "a BigInt" : show(value);
  return new SkiplockedError("invalid_argument", `Cannot ${action}: "${argument}" must be ${wanted}, got ${got}`);
}

function refusal(part: unknown): string | undefined {
  // A Number object is written as its number.
  if (part instanceof Number) return refusal(part.valueOf());
  switch (typeof part) {
    case "number":
      return Number.isFinite(part) ? undefined : "JSON with finite numbers";
    case "bigint":
      return "JSON without BigInt";
    case "function":
      return "JSON without functions";
    case "symbol":
      return "JSON without symbols";
  }
}

// JSON.stringify writes NUL and lone surrogates as escapes. An even number of backslashes before makes it plain text.
function hasUnstorableEscape(json: string): boolean {
  for (let at = json.indexOf("\\u"); at >= 0; at = json.indexOf("\\u", at + 2)) {
    let first = at;
    while (json[first - 1] === "\\") first--;
    if ((at - first) % 2 === 0 && /^(?:0000|d[89a-f])/.test(json.slice(at + 2, at + 6))) return true;
  }
  return false;
}

// By character: a regular expression runs out of stack in a string of ten megabytes.
function depth(json: string): number {
  if (json.length <= 2 * MAX_DEPTH) return 0;
  let open = 0;
  let deepest = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at++) {
    const mark = json[at];
    if (mark === '"') quoted = !quoted;
    else if (mark === "\\") at++;
    else if (!quoted && (mark === "[" || mark === "{")) deepest = Math.max(deepest, ++open);
    else if (!quoted && (mark === "]" || mark === "}")) open--;
  }
  return deepest;
}
