import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import type { Place } from "./database.ts";

/** Where everything is that the demo makes: one folder, and on Postgres one schema. */
export interface Workplace {
  folder: string;
  journals: string;
  place: Place;
  /** What a person calls the place of the tables. */
  title: string;
  removeFolder(): void;
}

export function makeWorkplace(): Workplace {
  const folder = mkdtempSync(join(tmpdir(), "skiplocked-demo-"));
  const journals = join(folder, "journals");
  mkdirSync(journals);
  const file = join(folder, "queue.db");
  const schema = basename(folder).replaceAll("-", "_").toLowerCase();
  const place: Place = process.env.DATABASE_URL ? { dialect: "postgres", schema } : { dialect: "sqlite", file };
  return {
    folder,
    journals,
    place,
    title: place.dialect === "sqlite" ? `the SQLite file ${file}` : `Postgres, schema ${schema}`,
    // Again and again for a while: a process that was just killed may still be closing its files.
    removeFolder: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  };
}
