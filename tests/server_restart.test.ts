// The server is stopped and started again under workers, in the middle of their calls.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe } from "node:test";
import pg from "pg";
import { createQueue } from "../mod.ts";
import { runProgram } from "./chaos/programs.ts";
import { eventually } from "./support/eventually.ts";
import { installedPostgres, serverUser } from "./support/postgres_binaries.ts";
import { type PostgresServer, startPostgres } from "./support/postgres_server.ts";
import { spawnWorker, type Worker } from "./support/processes.ts";
import { atEnd, test } from "./support/testing.ts";
import type { Driver } from "./workers/loop.ts";

const DRIVERS: readonly Driver[] = ["postgres.js", "pg Pool", "pg Pool, nobody listens"];
const PATIENCE_MS = 60_000;

describe("Postgres · a server that is restarted", { skip: installedPostgres().length === 0 && "no Postgres" }, () => {
  for (const mode of ["fast", "immediate"]) {
    test(`stopped ${mode}: calls under way reject, workers go on when it is back, and what a dead one held is reaped`, { timeout: 240_000 }, async () => {
      const server = await startPostgres({ settings: { fsync: "on" } });
      atEnd(server.stop);
      const pool = new pg.Pool({ connectionString: server.url, max: 2 });
      pool.on("error", () => {});
      atEnd(() => pool.end());
      const queue = createQueue(pool);
      await queue.migrate();

      const workers = DRIVERS.map((driver) => worker(server, driver, driver));
      const idle = worker(server, "pg Pool, nobody listens", "idle");
      const ids = [...await workOff(workers), (await queue.enqueue({ role: "idle", payload: "hold" })).attemptId];
      await idle.nextEvent("holds", PATIENCE_MS);

      // Each is in the middle of a call then.
      const blocker = new pg.Client({ connectionString: server.url });
      blocker.on("error", () => {});
      await blocker.connect();
      await blocker.query("begin; lock table workflow_attempts in access exclusive mode");
      await eventually(async () => {
        const { rowCount } = await pool.query("select 1 from pg_stat_activity where wait_event_type = 'Lock'");
        assert.equal(rowCount, workers.length);
      });
      await control(server, "-m", mode, "stop");
      // The call, and the first that finds no server.
      for (const each of workers) for (let failure = 0; failure < 2; failure++) await each.nextEvent("failed", PATIENCE_MS);
      // As pg has it: without a listener a connection that is lost while it is idle ends the process.
      assert.deepEqual(await idle.exited, { code: 1, signal: null });

      await control(server, "-l", server.logFile, "start");
      await eventually(() => queue.stats());
      ids.push(...await workOff(workers));
      for (const each of workers) assert.ok(!each.events.some(({ code }) => code === "lease_lost"));

      const { requeued } = await queue.reap({ staleAfterMs: 0 });
      assert.deepEqual(requeued.map(({ role, pickupCount }) => [role, pickupCount]), [["idle", 1]]);
      const claim = await queue.dequeue({ roles: ["idle"] });
      assert.ok(claim.acquired);
      await queue.complete(claim);
      const { rows } = await pool.query("select attempt_id, status, pickup_count from workflow_attempts order by attempt_id");
      assert.deepEqual(rows.map(({ attempt_id, status, pickup_count }) => [attempt_id, status, pickup_count]),
        ids.sort((a, b) => Number(a) - Number(b)).map((id) => [id, "succeeded", id === claim.attemptId ? 1 : 0]));

      /** Enqueues one for each, and waits until it is done; their ids. */
      async function workOff(of: readonly Worker[]): Promise<string[]> {
        const made = await queue.enqueue(DRIVERS.map((role) => ({ role })));
        for (const [place, each] of of.entries()) assert.equal((await each.nextEvent("done", PATIENCE_MS))["attemptId"], made[place]!.attemptId);
        return made.map(({ attemptId }) => attemptId);
      }
    });
  }
});

function worker({ url }: PostgresServer, driver: Driver, role: string): Worker {
  return spawnWorker(new URL("./workers/loop.ts", import.meta.url), [JSON.stringify({ address: url, schema: "public", roles: [role] }), driver]);
}

async function control({ binDir, dataDir }: PostgresServer, ...args: string[]): Promise<void> {
  await runProgram(join(binDir, "pg_ctl"), ["-D", dataDir, "-w", "-t", "60", ...args], serverUser() ?? {});
}
