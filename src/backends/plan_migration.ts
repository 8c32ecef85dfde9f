import { SkiplockedError } from "../errors.ts";
import type { Script } from "../query.ts";
import { schemas } from "../sql.gen.ts";

/**
 * The scripts that bring tables of version `from` to the version of this code: the whole schema for a new database, the
 * upgrades for one that is there.
 *
 * @throws {SkiplockedError} `schema_too_new`.
 */
export function planMigration(dialect: "postgres" | "sqlite", from: number): readonly Script[] {
  const { schema, upgrades } = schemas[dialect];
  if (from > schema.version) {
    const message = `Cannot migrate: the tables have version ${from}, this code knows version ${schema.version} and before, update the package "skiplocked"`;
    throw new SkiplockedError("schema_too_new", message);
  }
  return from === 0 ? [schema] : upgrades.filter((upgrade) => upgrade.version > from);
}
