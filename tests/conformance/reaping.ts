import assert from "node:assert/strict";
import { describe } from "node:test";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { type Fixture, fresh, HOUR, ids, only, range, ROLE } from "./support.ts";

const BROKEN = { outcome: "worker-internal-error", error: "out of memory" };

export function reaping(backend: BackendUnderTest): void {
  describe(`${backend.name} · reap`, () => {
    test("claimed and silent three times is STUCK", async () => {
      const db = await fresh(backend);
      const { attemptId, workflowId } = await db.add();
      const pending = await db.attempt(attemptId);
      for (const pickupCount of [1, 2]) {
        const claim = await db.claim({ instanceId: `worker ${pickupCount}` });
        assert.equal(claim.pickupCount, pickupCount - 1);
        await db.silence(attemptId);
        const reaped = { attemptId, workflowId, role: ROLE, pickupCount, previousInstanceId: `worker ${pickupCount}` };
        assert.deepEqual(await db.queue.reap(), { requeued: [reaped], stuck: [] });
        const row = await db.attempt(attemptId);
        assert.deepEqual(row, { ...pending, pickup_count: pickupCount, fencing_token: row.fencing_token });
        assert.ok(Number(row.fencing_token) > Number(claim.fencingToken));
        assert.equal(await db.statusOf(workflowId), "ACTIVE");
      }
      const claim = await db.claim({ instanceId: "worker 3" });
      await db.silence(attemptId);
      const before = await db.now();
      const reaped = { attemptId, workflowId, role: ROLE, pickupCount: 3, previousInstanceId: "worker 3" };
      assert.deepEqual(await db.queue.reap(), { requeued: [], stuck: [reaped] });
      const row = await db.attempt(attemptId);
      assert.deepEqual([row.status, row.outcome, row.pickup_count], ["failed", "attempt-pickup-exhausted", 3]);
      assert.ok(Number(row.fencing_token) > Number(claim.fencingToken) && Number(row.finished_at) >= before);
      const { status, stuck_reason } = await db.workflow(workflowId);
      assert.deepEqual([status, stuck_reason], ["STUCK", "attempt-pickup-exhausted"]);
      assert.deepEqual(await db.queue.dequeue({ roles: [ROLE] }), { acquired: false, reason: "no_pending_eligible" });
      assert.deepEqual(await db.unchangedBy(() => db.queue.reap()), { requeued: [], stuck: [] });
    });

    test("reap() of nothing gives empty lists", async () => {
      const db = await fresh(backend);
      assert.deepEqual(await db.queue.reap(), { requeued: [], stuck: [] });
      await db.queue.enqueue([{ role: ROLE }, { role: ROLE }, { role: ROLE }]);
      await db.claim();
      await db.queue.complete(await db.claim());
      assert.deepEqual(await db.unchangedBy(() => db.queue.reap()), { requeued: [], stuck: [] });
    });

    test("reap() counts a silent lease once, however often and from wherever it is called", async () => {
      const db = await fresh(backend);
      await claims(db, 40);
      for (const row of await db.attempts()) await db.silence(row.attempt_id);
      const rounds = await Promise.all(range(8).map(() => db.queue.reap()));
      rounds.push(await db.queue.reap(), await db.queue.reap());
      const reaped = rounds.flatMap((round) => round.requeued);
      assert.deepEqual(ids(reaped).toSorted(), (await db.attempts()).map((row) => row.attempt_id).toSorted());
      assert.ok((await db.attempts()).every((row) => row.pickup_count === 1 && row.status === "pending"));
    });

    test("reap() gives what it took by id, in both lists", async () => {
      const db = await fresh(backend);
      await claims(db, 30);
      await db.sql(`update workflow_attempts set pickup_count = 2 * (attempt_id % 2)`);
      for (const row of (await db.attempts()).toReversed()) await db.silence(row.attempt_id);
      const { requeued, stuck } = await db.queue.reap();
      for (const list of [requeued, stuck]) {
        assert.equal(list.length, 15);
        assert.deepEqual(ids(list), ids(list).toSorted((a, b) => Number(a) - Number(b)));
      }
    });

    test("reap() takes no more than its limit, and the rest the next time", async () => {
      const db = await fresh(backend);
      const held = await claims(db, 5);
      for (const { attemptId } of held) await db.silence(attemptId);
      const rounds = [];
      for (const _ of range(4)) rounds.push((await db.queue.reap({ limit: 2 })).requeued);
      assert.deepEqual(rounds.map((round) => round.length), [2, 2, 1, 0]);
      assert.deepEqual(ids(rounds.flat()).toSorted(), ids(held).toSorted());
    });

    test("reap() goes by the queue's staleAfterMs unless told otherwise, by default a minute", async () => {
      const db = await fresh(backend);
      await claims(db, 1);
      const silent = async (ms: number) => {
        const time = db.instant(await db.now() - ms);
        await db.sql(`update workflow_attempts set lock_heartbeat_at = ${time}, status = 'in_progress', pickup_count = 0`);
      };
      for (const [queue, staleAfterMs] of [[db.queue, 60_000], [db.opened.queue({ staleAfterMs: 10_000 }), 10_000]] as const) {
        await silent(staleAfterMs - 5_000);
        assert.equal((await queue.reap()).requeued.length, 0);
        assert.equal((await queue.reap({ staleAfterMs: staleAfterMs - 5_001 })).requeued.length, 1);
        await silent(staleAfterMs + 1);
        assert.equal((await queue.reap({ staleAfterMs: staleAfterMs + 5_000 })).requeued.length, 0);
        assert.equal((await queue.reap()).requeued.length, 1);
      }
    });

    test("reap() goes by the maxPickups of the call, else of the queue", async () => {
      const db = await fresh(backend);
      const queue = db.opened.queue({ maxPickups: 2 });
      const held = await claims(db, 2);
      for (const { attemptId } of held) await db.silence(attemptId);
      assert.equal((await queue.reap({ limit: 1, maxPickups: 1 })).stuck.length, 1);
      assert.equal((await queue.reap()).requeued.length, 1);
      await db.silence((await db.claim()).attemptId);
      assert.equal((await queue.reap()).stuck[0]?.pickupCount, 2);
    });

    test("a worker that breaks every time makes the workflow STUCK as well, and its error is kept", async () => {
      const db = await fresh(backend);
      const { attemptId, workflowId } = await db.add();
      for (const pickupCount of [1, 2, 3]) {
        await db.queue.fail(await db.claim({ instanceId: "me" }), BROKEN);
        const { requeued, stuck } = await db.queue.reap();
        assert.deepEqual([requeued.length, stuck.length], pickupCount < 3 ? [1, 0] : [0, 1]);
        assert.deepEqual(only([...requeued, ...stuck]), { attemptId, workflowId, role: ROLE, pickupCount, previousInstanceId: "me" });
      }
      const { status, outcome, error, pickup_count } = await db.attempt(attemptId);
      assert.deepEqual([status, outcome, error, pickup_count], ["failed", "attempt-pickup-exhausted", BROKEN.error, 3]);
      assert.equal(await db.statusOf(workflowId), "STUCK");
    });

    test("reap() leaves a broken attempt alone while its workflow is not ACTIVE", async () => {
      const db = await fresh(backend);
      const broken = await db.add();
      await db.add({ role: "sibling", workflowId: broken.workflowId });
      await db.queue.fail(await db.claim(), BROKEN);
      await db.queue.fail(await db.claim({ roles: ["sibling"] }));
      assert.deepEqual(await db.unchangedBy(() => db.queue.reap()), { requeued: [], stuck: [] });
      await db.add({ role: "new work", workflowId: broken.workflowId });
      assert.deepEqual(ids((await db.queue.reap()).requeued), [broken.attemptId]);
    });

    test("reap() takes a silent lease whatever the status of its workflow, and CANCELLED stays", async () => {
      const db = await fresh(backend);
      for (const status of ["ACTIVE", "SUCCEEDED", "FAILED", "STUCK", "CANCELLED"]) {
        const { attemptId, workflowId } = await db.add();
        for (const maxPickups of [9, 1]) {
          await db.claim({ maxPickups: 9 });
          await db.sql(`update workflows set status = '${status}' where workflow_id = ${workflowId}`);
          await db.silence(attemptId);
          const { requeued, stuck } = await db.queue.reap({ maxPickups });
          assert.deepEqual([ids(requeued), ids(stuck)], maxPickups === 1 ? [[], [attemptId]] : [[attemptId], []]);
        }
        assert.equal((await db.attempt(attemptId)).outcome, "attempt-pickup-exhausted");
        assert.equal(await db.statusOf(workflowId), status === "CANCELLED" ? "CANCELLED" : "STUCK");
      }
    });

    test("two attempts of one workflow that reach the limit together are both exhausted", async () => {
      const db = await fresh(backend);
      const { workflowId } = await db.add();
      await db.add({ workflowId });
      const held = [await db.claim(), await db.claim()];
      for (const { attemptId } of held) await db.silence(attemptId);
      assert.deepEqual(ids((await db.queue.reap({ maxPickups: 1 })).stuck), ids(held));
      assert.equal((await db.workflows()).length, 1);
    });

    test("reap() makes due attempts pending without counting or telling", async () => {
      const db = await fresh(backend);
      const now = await db.now();
      const due = await db.queue.enqueue([{ role: ROLE, delayMs: 0 }, { role: ROLE, runAt: new Date(now - HOUR) }]);
      const later = await db.queue.enqueue([{ role: ROLE, delayMs: HOUR }, { role: ROLE, runAt: new Date(now + HOUR) }]);
      const scheduled = await db.attempts();
      assert.deepEqual(await db.queue.reap(), { requeued: [], stuck: [] });
      const rows = await db.attempts();
      assert.deepEqual(rows.map((row) => row.status), ["pending", "pending", "scheduled", "scheduled"]);
      assert.deepEqual(rows.map((row) => ({ ...row, status: "scheduled" })), scheduled);
      assert.deepEqual(rows.map((row) => row.attempt_id), ids([...due, ...later]));
    });

    test("reap() of 2,000 silent leases takes them all", async () => {
      const db = await fresh(backend);
      await claims(db, 2_000);
      await db.sql(`update workflow_attempts set lock_heartbeat_at = ${db.instant(0)}`);
      assert.equal((await db.queue.reap()).requeued.length, 2_000);
      assert.equal((await db.attempts("status = 'pending' and pickup_count = 1 and locked_by_instance is null")).length, 2_000);
    });
  });
}

async function claims(db: Fixture, count: number) {
  await db.queue.enqueue(range(count).map(() => ({ role: ROLE })));
  return await db.queue.dequeueMany({ roles: [ROLE], limit: count });
}
