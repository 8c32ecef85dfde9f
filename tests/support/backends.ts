import process from "node:process";
import { open } from "./connections/open.ts";
import type { BackendUnderTest, Open } from "./connections/opened.ts";
import { runtimeName } from "./connections/runtime_name.ts";
import { type ConnectionEntry, connections } from "./connections/table.ts";

export type { BackendUnderTest, Opened } from "./connections/opened.ts";

/**
 * What the suite runs on in this process: the connection that `SKIPLOCKED_CONNECTION` names, else those for every day.
 * Postgres needs `DATABASE_URL`, which `npm test` sets.
 */
export const backends: readonly BackendUnderTest[] = choose(process.env["SKIPLOCKED_CONNECTION"]);

/** The three that tests of processes, files and races run on, whatever the drivers. */
export const mainBackends: readonly BackendUnderTest[] = ["openSqlite", "better-sqlite3 12", "postgres.js"]
  .flatMap((name) => usable().filter((backend) => backend.name === name));

function choose(name: string | undefined): readonly BackendUnderTest[] {
  if (name === undefined) return usable().filter((backend) => backend.daily);
  const chosen = usable().filter((backend) => backend.name === name);
  if (chosen.length === 0) throw new Error(`There is no connection "${name}" under ${runtimeName()}`);
  return chosen;
}

function usable(): (BackendUnderTest & ConnectionEntry)[] {
  return connections
    .filter(({ runsOn, needsServer }) => runsOn(runtimeName()) && (!needsServer || process.env["DATABASE_URL"] !== undefined))
    .map((entry) => ({ ...entry, open: ({ migrated = false } = {}) => opener(entry.name)(migrated) }));
}

function opener(name: string): Open {
  const found = open[name];
  if (found === undefined) throw new Error(`Nothing in open.ts opens "${name}"`);
  return found;
}
