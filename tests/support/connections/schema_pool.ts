import { randomUUID } from "node:crypto";

/** Schemas of one database for tests. A schema each and not a database each: that takes a tenth of the time. */
export interface SchemaPool {
  /** An empty schema, or one with empty tables. */
  take(migrated: boolean): Promise<string>;
  /** Clears a schema up that a test is through with. */
  give(name: string, migrated: boolean): Promise<void>;
}

const MANY_ROWS = 500;

/**
 * @param run Runs statements and gives the rows of the last one.
 * @param migrate Makes the tables.
 * @param names Gives a name that no schema has yet.
 */
export function schemaPool(
  run: (text: string) => Promise<object[]>,
  migrate: (name: string) => Promise<unknown>,
  names: () => string = () => `test_${randomUUID()}`,
): SchemaPool {
  // With tables as they are when new: making them takes longer than most tests, and statements are planned anew for each.
  const clean: string[] = [];
  return {
    async take(migrated) {
      const known = migrated ? clean.pop() : undefined;
      if (known !== undefined) return known;
      const name = names();
      await run(`create schema ${quoted(name)}`);
      if (migrated) await migrate(name);
      return name;
    },
    async give(name, migrated) {
      if (migrated && await empty(name)) clean.push(name);
      else await run(`set client_min_messages = warning; drop schema if exists ${quoted(name)} cascade; reset client_min_messages`);
    },
  };

  async function empty(name: string): Promise<boolean> {
    const [count] = await run(
      `with gone as (delete from ${quoted(name)}.workflow_attempts returning 1) select cast(count(*) as int) as rows from gone`,
    );
    // Dead rows would slow the next test down.
    if (Number((count as { rows: number }).rows) > MANY_ROWS) return false;
    const restart = ["workflows.workflow_id", "workflow_attempts.attempt_id"].map((column) => {
      const [table, id] = column.split(".");
      return `setval(pg_get_serial_sequence('${quoted(name).replaceAll("'", "''")}.${table}', '${id}'), 1, false)`;
    });
    await run(`delete from ${quoted(name)}.workflows; select ${restart.join(", ")}`);
    return true;
  }
}

/** The name of a schema as an identifier, whatever is in it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
