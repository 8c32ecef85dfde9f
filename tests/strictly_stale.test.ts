// Postgres counts microseconds, so that no test by the clock can meet the border of a lease: here the clock stands still.
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import postgres from "postgres";
import { createQueue, type Queue } from "../mod.ts";
import { reap } from "../src/sql.gen.ts";
import { createDatabase } from "./support/postgres_server.ts";

const URL_GIVEN = process.env["DATABASE_URL"];
const NOW = "timestamptz '2024-02-29 12:00:00.000001+00'";
const LIMIT_MS = 1_000;

describe("postgres · strictly stale", { skip: URL_GIVEN === undefined && "no Postgres" }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let sql: postgres.Sql;
  let queue: Queue;

  before(async () => {
    database = await createDatabase(URL_GIVEN!);
    sql = postgres(database.url, { max: 1, onnotice: () => {} });
    queue = createQueue(sql);
    await queue.migrate();
  });

  after(async () => {
    await sql.end();
    await database.drop();
  });

  // The statement as it is, but for the clock.
  async function reapAtNoon(): Promise<unknown[]> {
    const [statement, more] = reap.postgres;
    assert.ok(statement !== undefined && more === undefined);
    const text = statement.text.replaceAll('"@schema"', "public").replaceAll('"@schema-literal"', "public");
    const stopped = text.replaceAll(/(pg_catalog\.)?clock_timestamp\(\)/g, NOW);
    assert.notEqual(stopped, text);
    const params: Record<string, string | null> = { stale_after_ms: String(LIMIT_MS), max_pickups: "3", max_reaped: null };
    return [...await sql.unsafe(stopped, statement.params.map((name) => params[name] as string | null))];
  }

  for (const [microseconds, isTaken] of [[0, false], [1, true], [-1, false]] as const) {
    test(`reap() ${isTaken ? "takes" : "leaves"} a lease that is older than the limit by ${microseconds} microseconds`, async () => {
      const { attemptId } = await queue.enqueue({ role: "r" });
      await queue.dequeue({ roles: ["r"] });
      await sql.unsafe(`update workflow_attempts set lock_heartbeat_at = ${NOW} - interval '${LIMIT_MS} milliseconds' - interval '${microseconds} microseconds' where attempt_id = ${attemptId}`);
      const taken = await reapAtNoon();
      await sql.unsafe("delete from workflow_attempts");
      assert.equal(taken.length, Number(isTaken));
    });
  }
});
