import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Claim, RoleStats } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { type Fixture, fresh, HOUR, ids, range, ROLE } from "./support.ts";

const DAY = 24 * HOUR;

export function upkeep(backend: BackendUnderTest): void {
  describe(`${backend.name} · stats and prune`, () => {
    test("stats() of an empty queue is empty", async () => {
      const db = await fresh(backend);
      assert.deepEqual(await db.queue.stats(), { roles: [], stuck: 0 });
    });

    test("stats() counts the attempts of each role by status, and what is STUCK", async () => {
      const db = await fresh(backend);
      await db.stick();
      await db.stick();
      await db.queue.enqueue(range(6).map(() => ({ role: "a" })));
      const [one, two, three] = await db.queue.dequeueMany({ roles: ["a"], limit: 4 });
      await db.queue.complete(one as Claim);
      await db.queue.fail(two as Claim);
      await db.queue.fail(three as Claim, { outcome: "worker-internal-error" });
      await db.queue.enqueue([{ role: "b", delayMs: HOUR }, { role: "b", delayMs: HOUR }]);
      const cancelled = await db.add({ role: "c" });
      await db.queue.cancel(cancelled.workflowId);
      const before = await db.dump();
      const { roles, stuck } = await db.queue.stats();
      assert.deepEqual(await db.dump(), before);
      assert.equal(stuck, 2);
      const counts = Object.fromEntries(roles.map(({ role, pending, scheduled, inProgress, succeeded, failed }) =>
        [role, [pending, scheduled, inProgress, succeeded, failed]]
      ));
      assert.deepEqual(counts, { a: [2, 0, 1, 1, 2], b: [0, 2, 0, 0, 0], c: [0, 0, 0, 0, 0], doomed: [0, 0, 0, 0, 2] });
      const a = roles.find((each) => each.role === "a");
      assert.deepEqual(Object.keys(a ?? {}).sort(), [
        "failed",
        "inProgress",
        "oldestHeartbeatMs",
        "oldestPendingMs",
        "pending",
        "role",
        "scheduled",
        "succeeded",
      ]);
      assert.equal(roles.find((each) => each.role === "b")?.oldestPendingMs, null);
      assert.equal(roles.find((each) => each.role === "b")?.oldestHeartbeatMs, null);
    });

    test("stats() counts every STUCK workflow, whatever became of its attempts", async () => {
      const db = await fresh(backend);
      const { attemptId } = await db.stick();
      await db.sql(`update workflow_attempts set status = 'pending', outcome = null, pickup_count = 0 where attempt_id = ${attemptId}`);
      assert.equal((await db.queue.stats()).stuck, 1);
      await db.sql("delete from workflow_attempts");
      assert.deepEqual(await db.queue.stats(), { roles: [], stuck: 1 });
    });

    test("stats() tells the age of the oldest pending attempt and of the most silent lease", async () => {
      const db = await fresh(backend);
      const made = await db.queue.enqueue(range(4).map(() => ({ role: ROLE })));
      const now = await db.now();
      await set(db, made[0]?.attemptId, "created_at", now - 4 * HOUR);
      await set(db, made[1]?.attemptId, "created_at", now - 3 * HOUR);
      await set(db, made[3]?.attemptId, "created_at", now - 2 * HOUR);
      await db.queue.complete(await db.claim());
      await db.claim();
      await set(db, made[1]?.attemptId, "lock_heartbeat_at", now - HOUR);
      const role = await one(db);
      assert.ok(near(role.oldestPendingMs, 2 * HOUR) && near(role.oldestHeartbeatMs, HOUR), JSON.stringify(role));
      assert.ok(Number.isInteger(role.oldestPendingMs) && Number.isInteger(role.oldestHeartbeatMs));
      const earlier = db.instant(now - 5 * HOUR);
      await db.sql(`update workflow_attempts set lock_heartbeat_at = null, locked_at = ${earlier} where status = 'in_progress'`);
      assert.ok(near((await one(db)).oldestHeartbeatMs, 5 * HOUR));
    });

    test("prune() deletes workflows that ended long ago, with their attempts", async () => {
      const db = await fresh(backend);
      const kept = [await db.add({ role: "waits" }), await db.stick()];
      const gone = [await db.add(), await db.add(), await db.add()];
      await db.add({ workflowId: gone[0]?.workflowId as string });
      await db.queue.complete(await db.claim());
      await db.queue.fail(await db.claim());
      await db.queue.cancel(gone[2]?.workflowId as string);
      await db.queue.complete(await db.claim());
      await old(db, DAY);
      const recent = await db.add({ role: "recent" });
      await db.queue.complete(await db.claim({ roles: ["recent"] }));
      assert.deepEqual(await db.unchangedBy(() => db.queue.prune({ olderThanMs: 2 * DAY })), { workflows: 0, attempts: 0 });
      assert.deepEqual(await db.queue.prune({ olderThanMs: DAY }), { workflows: 3, attempts: 4 });
      const left = [...kept, recent];
      assert.deepEqual((await db.workflows()).map((row) => row.workflow_id), left.map((each) => each.workflowId));
      assert.deepEqual((await db.attempts()).map((row) => row.attempt_id), ids(left));
      assert.deepEqual(await db.queue.prune({ olderThanMs: DAY }), { workflows: 0, attempts: 0 });
    });

    test("prune() goes by the last change of a workflow", async () => {
      const db = await fresh(backend);
      const { workflowId } = await db.add();
      await old(db, DAY);
      await db.queue.complete(await db.claim());
      assert.deepEqual(await db.queue.prune({ olderThanMs: HOUR }), { workflows: 0, attempts: 0 });
      assert.equal(await db.statusOf(workflowId), "SUCCEEDED");
      assert.deepEqual(await db.queue.prune({ olderThanMs: 0 }), { workflows: 1, attempts: 1 });
    });

    test("prune() keeps an ended workflow that still has an attempt to do", async () => {
      const db = await fresh(backend);
      for (const sibling of ["pending", "scheduled", "in_progress"]) {
        const { workflowId } = await db.add({ role: sibling, ...(sibling === "scheduled" ? { delayMs: HOUR } : {}) });
        if (sibling === "in_progress") await db.claim({ roles: [sibling] });
        await db.add({ workflowId });
        await db.queue.fail(await db.claim());
      }
      await old(db, DAY);
      assert.deepEqual(await db.unchangedBy(() => db.queue.prune({ olderThanMs: 0 })), { workflows: 0, attempts: 0 });
    });

    test("prune() keeps an ACTIVE workflow whose worker broke, however old", async () => {
      const db = await fresh(backend);
      await db.add();
      await db.queue.fail(await db.claim(), { outcome: "worker-internal-error" });
      await old(db, DAY);
      assert.deepEqual(await db.unchangedBy(() => db.queue.prune({ olderThanMs: 0 })), { workflows: 0, attempts: 0 });
    });

    test("prune() deletes a FAILED workflow of which only a broken attempt is left", async () => {
      const db = await fresh(backend);
      const { workflowId } = await db.add();
      await db.add({ workflowId, key: "k" });
      await db.queue.fail(await db.claim());
      await db.queue.fail(await db.claim(), { outcome: "worker-internal-error" });
      assert.deepEqual(await db.queue.prune({ olderThanMs: 0 }), { workflows: 1, attempts: 2 });
      assert.ok((await db.add({ key: "k" })).created);
    });

    test("prune() deletes no more workflows than its limit, oldest first", async () => {
      const db = await fresh(backend);
      const made = await db.queue.enqueue(range(5).map(() => ({ role: ROLE })));
      for (const claim of await db.queue.dequeueMany({ roles: [ROLE], limit: 5 })) await db.queue.complete(claim);
      assert.deepEqual(await db.queue.prune({ olderThanMs: 0, limit: 2 }), { workflows: 2, attempts: 2 });
      assert.deepEqual((await db.attempts()).map((row) => row.attempt_id), ids(made.slice(2)));
      assert.deepEqual(await db.queue.prune({ olderThanMs: 0, limit: 9 }), { workflows: 3, attempts: 3 });
    });

    test("an id that was pruned is never given again", async () => {
      const db = await fresh(backend);
      const gone = await db.add();
      await db.queue.complete(await db.claim());
      await db.queue.prune({ olderThanMs: 0 });
      assert.deepEqual([await db.attempts(), await db.workflows()], [[], []]);
      const made = await db.add();
      assert.ok(BigInt(made.attemptId) > BigInt(gone.attemptId) && BigInt(made.workflowId) > BigInt(gone.workflowId));
    });
  });
}

async function one(db: Fixture): Promise<RoleStats> {
  return (await db.queue.stats()).roles.find((each) => each.role === ROLE) as RoleStats;
}

async function set(db: Fixture, attemptId: string | undefined, time: string, ms: number): Promise<void> {
  await db.sql(`update workflow_attempts set ${time} = ${db.instant(ms)} where attempt_id = ${attemptId}`);
}

/** Makes every workflow as old as that. */
async function old(db: Fixture, ms: number): Promise<void> {
  const time = db.instant(await db.now() - ms);
  await db.sql(`update workflows set created_at = ${time}, updated_at = ${time}`);
}

// Within what a slow machine takes for a test.
function near(age: number | null, expected: number): boolean {
  return age !== null && age >= expected - 10 && age < expected + 60_000;
}
