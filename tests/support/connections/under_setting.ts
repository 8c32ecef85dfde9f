import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import process from "node:process";
import type postgres from "postgres";
import type { Open } from "./opened.ts";
import { roleOfItsOwn } from "./role_of_its_own.ts";
import { type Database, database, onSchema, once } from "./schema.ts";
import type { Setting } from "./settings.ts";
import { SHADOWS } from "./shadows.ts";

/** postgres.js under a role of its own, in a database of its own, in a process whose zone and clock are moved. */
export function underSetting(setting: Setting): Open {
  const place = once(() => prepare(setting), ({ close }) => close());
  return async (migrated) => {
    const { sql, tests } = await place();
    return onSchema(migrated, () => Promise.resolve({
      connection: sql,
      transaction: (work) => sql.begin((transaction) => work(transaction)) as Promise<never>,
      end: () => Promise.resolve(),
    }), tests);
  };
}

async function prepare(setting: Setting): Promise<{ sql: postgres.Sql; tests: Database; close(): Promise<void> }> {
  moveProcess(setting.process ?? {});
  // What a role may do is another matter; this one is not to fail for lack of it.
  const { url, role, admin, connect, close } = await roleOfItsOwn(String(process.env["DATABASE_URL"]), "superuser");
  try {
    if (setting.role?.["search_path"]?.includes("shadows")) await admin.unsafe(SHADOWS);
    for (const [name, value] of Object.entries(setting.role ?? {})) await admin.unsafe(`alter role ${role} set ${name} = ${literal(value)}`);
    const sql = connect(4);
    const inForce = await sql.unsafe("select from pg_catalog.pg_settings where source = 'user'");
    assert.equal(inForce.length, Object.keys(setting.role ?? {}).length);
    return { sql, tests: database(() => url, naming(setting.schema ?? "test")), close };
  } catch (error) {
    await close();
    throw error;
  }
}

// A search_path is a list of names, other lists are one text.
function literal(value: string): string {
  return value.startsWith("shadows,") || value.startsWith("darker_shadows,") ? value : `'${value}'`;
}

function naming(schema: string | readonly string[]): () => string {
  const names = typeof schema === "string" ? [] : [...schema];
  return () => typeof schema === "string" ? schema + randomUUID().slice(0, 8) : names.pop() ?? `${schema[0]}_${randomUUID()}`;
}

/** As on a machine of another time zone whose clock is wrong, from now on. */
function moveProcess({ zone, clockMs = 0 }: NonNullable<Setting["process"]>): void {
  if (zone !== undefined) process.env["TZ"] = zone;
  if (clockMs === 0) return;
  const { now } = Date;
  const monotonic = performance.now.bind(performance);
  globalThis.Date = class extends Date {
    constructor(...parts: number[]) {
      super(...(parts.length === 0 ? [now() + clockMs] : parts) as [number]);
    }
    static override now(): number {
      return now() + clockMs;
    }
  } as unknown as DateConstructor;
  // It has no meaning as an instant: a far one serves for either direction.
  performance.now = () => monotonic() + Math.abs(clockMs);
}
