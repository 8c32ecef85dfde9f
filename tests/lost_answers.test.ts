// The network between a worker and the server, cut at the worst moments: before a statement arrives, and after it was done.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { after, describe, test } from "node:test";
import pg from "pg";
import postgres from "postgres";
import { type Claim, type Connection, createQueue, type Queue } from "../mod.ts";
import { eventually } from "./support/eventually.ts";
import { faultyProxy } from "./support/faulty_proxy.ts";
import { arrange, OPERATIONS, wasDone } from "./support/uncertain_operations.ts";

const URL_GIVEN = process.env["DATABASE_URL"];
// At once, but for a machine that does much else. Nothing here waits by itself.
const SOON_MS = 15_000;

const DRIVERS: Record<string, (url: string) => { connection: Connection; end(): Promise<unknown> }> = {
  "postgres.js": (url) => {
    const sql = postgres(url, { max: 1, fetch_types: false, onnotice() {} });
    return { connection: sql, end: () => sql.end({ timeout: 1 }) };
  },
  "pg Pool": (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", () => {});
    return { connection: pool, end: () => pool.end() };
  },
};

for (const [driver, open] of Object.entries(DRIVERS)) {
  describe(`${driver} · lost answers`, { skip: URL_GIVEN === undefined && "no DATABASE_URL" }, () => {
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      test(`${name} that is cut off rejects soon, and is done wholly or not at all`, async () => {
        const eyes = postgres(String(URL_GIVEN), { max: 1, onnotice() {} });
        const schema = `lost_${randomUUID()}`;
        const direct = createQueue(eyes, { schema, instanceId: "me" });
        await direct.migrate();
        const proxy = await faultyProxy(String(URL_GIVEN));
        const { connection, end } = open(proxy.url);
        after(async () => {
          await end().catch(() => {});
          await proxy.close();
          await eyes.unsafe(`drop schema "${schema}" cascade`);
          await eyes.end();
        });
        const queue = createQueue(connection, { schema, instanceId: "me" });
        const seen = { done: 0, not: 0 };

        // Message after message of an operation: before each is passed on, and before its answer is.
        for (const place of ["request", "answer"] as const) {
          for (let message = 1; message <= 6; message++) {
            const claim = await arrange(direct, eyes, schema);
            await queue.stats();
            proxy.cut(place, message);
            const started = performance.now();
            const failed = await operation.act(queue, claim).then(() => false, (error) => typeof error.code === "string" ? error.code : String(error));
            assert.ok(performance.now() - started < SOON_MS, `${place} ${message}: took too long`);
            const wasCut = !proxy.spare();
            const done = await wasDone(operation, eyes, schema);
            if (!wasCut) {
              assert.deepEqual([failed, done], [false, true]);
              break;
            }
            assert.ok(failed, `${place} ${message}: a call that was cut off says that all is well`);
            assert.notEqual(failed, "lease_lost");
            seen[done ? "done" : "not"]++;
            await eventually(() => queue.stats());
            await recovers(name, direct, queue, claim, done);
          }
        }
        assert.ok(seen.done > 0 && seen.not > 0, JSON.stringify(seen));
      });
    }
  });
}

/** What a caller does who cannot know: it asks again, and it reaps. */
async function recovers(name: string, direct: Queue, queue: Queue, claim: Claim, done: boolean): Promise<void> {
  if (name === "complete()") {
    const again = queue.complete(claim);
    if (done) await assert.rejects(again, { code: "lease_lost" });
    else await again;
  }
  if (name === "dequeue()" && done) {
    const { requeued } = await direct.reap({ staleAfterMs: 0 });
    assert.ok(requeued.some(({ role, pickupCount }) => role === "free" && pickupCount === 1));
  }
}
