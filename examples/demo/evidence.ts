import type { Row } from "./database.ts";
import type { Entry } from "./journal.ts";

/** What the report goes by, and nothing else. */
export interface Evidence {
  select(sql: string): Promise<Row[]>;
  /** What stands before a table's name. */
  prefix: string;
  /** What the workers and the parent wrote down outside of the database. */
  journals: readonly Entry[];
  /** How many attempts should have succeeded. */
  attempts: number;
}

export interface Line {
  ok: boolean;
  text: string;
}

/** One thing that is claimed, the query that was run for it, and what came of both. */
export interface Finding {
  title: string;
  query?: { sql: string; rows: Row[]; show: boolean };
  lines: Line[];
}

/** A line that is ✓ with one text or ✗ with the other. */
export function line(ok: boolean, yes: string, no: string): Line {
  return { ok, text: ok ? yes : no };
}

/** The entries of one type. */
export function of<T extends Entry["type"]>(journals: readonly Entry[], type: T): Extract<Entry, { type: T }>[] {
  return journals.filter((entry): entry is Extract<Entry, { type: T }> => entry.type === type);
}
