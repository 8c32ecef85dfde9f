/** What a call gives back, or how it fails, as JSON that tells everything apart that a program could. */
export function answerOf(call: () => unknown): unknown {
  try {
    return toJson(call());
  } catch (error) {
    return failureOf(error as Error);
  }
}

/** Of SQLite's own errors everything; of others only that they are thrown, their classes and words are each library's. */
export function failureOf(error: Error): unknown {
  const { name, message, code, errno } = error as Error & { code?: unknown; errno?: unknown };
  if (typeof code === "string" && code.startsWith("SQLITE_")) return { thrown: { name, code, errno, message } };
  return { thrown: "refused" };
}

function toJson(value: unknown): unknown {
  switch (typeof value) {
    case "undefined":
      return { undefined: true };
    case "bigint":
      return { bigint: String(value) };
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { number: Object.is(value, -0) ? "-0" : String(value) };
    case "object":
      return value === null ? null : objectToJson(value);
    default:
      return value;
  }
}

function objectToJson(value: object): unknown {
  if (Array.isArray(value)) return value.map(toJson);
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === Uint8Array.prototype) return { blob: [...value as Uint8Array] };
  const cells = Object.entries(value).map(([key, cell]) => [key, toJson(cell)]);
  return prototype === Object.prototype ? { object: cells } : { class: prototype?.constructor.name ?? null, cells };
}
