// Somebody holds an old snapshot open while attempts come and go: claims stay right, and cost no more than what cannot be cleaned up.
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import postgres from "postgres";
import { createQueue } from "../mod.ts";
import { createDatabase } from "./support/postgres_server.ts";

const URL_GIVEN = process.env["DATABASE_URL"];
const ROUNDS = 40;
const BATCH = 50;

describe("postgres.js · an old snapshot", { skip: URL_GIVEN === undefined && "no DATABASE_URL" }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let sql: postgres.Sql;

  before(async () => {
    database = await createDatabase(String(URL_GIVEN));
    sql = postgres(database.url, { max: 1, onnotice() {} });
  });
  after(async () => {
    await sql.end();
    await database.drop();
  });

  test("claims stay right and bounded while it is held, and cheap again when it has ended", async () => {
    const queue = createQueue(sql);
    await queue.migrate();
    // Cleaned up when this test says so, as a busy autovacuum would be late.
    await sql.unsafe("alter table workflow_attempts set (autovacuum_enabled = off); alter table workflows set (autovacuum_enabled = off)");
    const holder = postgres(database.url, { max: 1 });
    let release = () => {};
    const released = new Promise<void>((resolve) => release = resolve);
    let sees: () => Promise<number> = () => Promise.resolve(0);
    let seen = () => {};
    const began = new Promise<void>((resolve) => seen = resolve);
    const held = holder.begin("isolation level repeatable read", async (transaction) => {
      sees = async () => Number((await transaction.unsafe("select count(*) as n from workflow_attempts"))[0]?.["n"]);
      await sees();
      seen();
      await released;
    });
    await began;

    for (let round = 0; round < ROUNDS; round++) {
      const made = await queue.enqueue(Array.from({ length: BATCH }, () => ({ role: "r" })));
      const first = await queue.dequeue({ roles: ["r"] });
      const rest = await queue.dequeueMany({ roles: ["r"], limit: BATCH });
      assert.ok(first.acquired);
      assert.deepEqual([first, ...rest].map(({ attemptId }) => attemptId), made.map(({ attemptId }) => attemptId));
      assert.deepEqual(await queue.dequeue({ roles: ["r"] }), { acquired: false, reason: "no_pending_eligible" });
      // Each of these leaves a dead row behind.
      assert.ok((await queue.heartbeat(rest)).every(({ held }) => held));
      await sql.begin(async (transaction) => {
        const inside = queue.using(transaction);
        for (const claim of [first, ...rest]) await inside.complete(claim);
      });
    }
    const churned = ROUNDS * BATCH;
    assert.equal(await sees(), 0, "it is old");
    const last = await queue.enqueue({ role: "r" });
    const dirty = await costOf(async () => assert.equal((await queue.dequeue({ roles: ["r"] }) as { attemptId?: string }).attemptId, last.attemptId));
    const refused = await costOf(() => queue.dequeue({ roles: ["r"] }));
    // Once over the dead entries of one index: 90 and 222 were measured after 2,000.
    for (const { blocks, scans } of [dirty, refused]) {
      assert.ok(blocks < 60 + churned / 4, `${blocks} blocks after ${churned} attempts`);
      assert.equal(scans, 0, "the table was read from end to end");
    }

    release();
    await held;
    await holder.end();
    await sql.unsafe("vacuum workflow_attempts");
    await queue.enqueue({ role: "r" });
    const clean = await costOf(async () => assert.ok((await queue.dequeue({ roles: ["r"] })).acquired));
    assert.ok(clean.blocks < 100, `${clean.blocks} blocks when it has ended`);
  });

  /** How many blocks of the attempts and their indexes something reads, and how often all of the table. */
  async function costOf(work: () => Promise<unknown>): Promise<{ blocks: number; scans: number }> {
    const before = await statistics();
    await work();
    const after = await statistics();
    return { blocks: after.blocks - before.blocks, scans: after.scans - before.scans };
  }

  async function statistics(): Promise<{ blocks: number; scans: number }> {
    await sql.unsafe("select pg_stat_force_next_flush()");
    const [row] = await sql.unsafe(`select heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit as blocks, seq_scan as scans
      from pg_statio_user_tables join pg_stat_user_tables using (relid) where relid = 'workflow_attempts'::regclass`);
    return { blocks: Number(row?.["blocks"]), scans: Number(row?.["scans"]) };
  }
});
