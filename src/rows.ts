/**
 * From the wire to TypeScript and back.
 *
 * @module
 */

import type { ColumnType, Query } from "./query.ts";

/**
 * Decodes rows by the place of each column: a driver may have renamed them (postgres.js: `transform: postgres.camel`), but
 * none reorders them.
 */
export function decodeRows<Row>(query: Query<unknown, Row>, rows: readonly unknown[]): Row[] {
  return rows.map((row) => {
    // By its places: an array may have holes, which are null.
    const values: readonly unknown[] = Array.isArray(row) ? row : Object.values(row as object);
    return Object.fromEntries(query.columns.map(([name, type], place) => [name, decode(type, values[place])])) as Row;
  });
}

// Postgres gives every column as text, SQLite gives numbers, which are bigints when the caller asked for safe integers.
function decode(type: ColumnType, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  switch (type.replace("?", "")) {
    case "int":
    case "ms":
      return Number(value);
    case "bool":
      return value === "true" || value === true || value === 1 || value === 1n;
    case "json":
      return parseJson(String(value));
    default:
      return String(value);
  }
}

// In SQLite another program can write a payload that is no JSON. The claim is made by then: hand out the text.
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Parameters of a statement for Postgres: each as text, whatever types the driver would guess. */
export function textParams(names: readonly string[], params: unknown): (string | null)[] {
  return names.map((name) => {
    const value = (params as Record<string, unknown>)[name];
    return value === null || value === undefined ? null : String(value);
  });
}

/** Parameters of a statement for SQLite: exactly those it names, since one driver refuses more and another refuses less. */
export function namedParams(names: readonly string[], params: unknown): Record<string, string | number | null> {
  return Object.fromEntries(names.map((name) => {
    const value = (params as Record<string, unknown>)[name];
    return [name, typeof value === "boolean" ? Number(value) : (value ?? null) as string | number | null];
  }));
}
