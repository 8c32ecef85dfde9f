import assert from "node:assert/strict";
import { describe } from "node:test";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, type Fixture, fresh, HOUR, ids, only, ROLE } from "./support.ts";

/** Brings a workflow into a state and gives its id. */
const STATES: Record<string, (db: Fixture) => Promise<string>> = {
  "ACTIVE": async (db) => (await db.add()).workflowId,
  "ACTIVE with a claimed attempt": async (db) => (await claimed(db)).workflowId,
  "ACTIVE with a broken attempt": (db) => ended(db, (claim) => db.queue.fail(claim, { outcome: "worker-internal-error" })),
  "SUCCEEDED": (db) => ended(db, db.queue.complete),
  "FAILED": (db) => ended(db, db.queue.fail),
  "FAILED with an open attempt": async (db) => {
    const { workflowId } = await db.add({ role: "sibling", delayMs: HOUR });
    await db.add({ workflowId });
    await db.queue.fail(await db.claim());
    return workflowId;
  },
  "FAILED with a broken attempt": async (db) => {
    const one = await claimed(db);
    await db.add({ workflowId: one.workflowId });
    await db.queue.fail(await db.claim());
    await db.queue.fail(one, { outcome: "worker-internal-error" });
    return one.workflowId;
  },
  "STUCK": async (db) => (await db.stick()).workflowId,
  "CANCELLED": async (db) => {
    const { workflowId } = await db.add();
    await db.queue.cancel(workflowId);
    return workflowId;
  },
};

const REFUSES_CANCEL = ["SUCCEEDED", "FAILED", "CANCELLED"];

export function operating(backend: BackendUnderTest): void {
  describe(`${backend.name} · retry and cancel`, () => {
    for (const [state, arrange] of Object.entries(STATES)) {
      test(`retry() ${state === "STUCK" ? "takes" : "refuses"} a workflow that is ${state}`, async () => {
        const db = await fresh(backend);
        const workflowId = await arrange(db);
        if (state === "STUCK") return assert.equal(await db.queue.retry(workflowId), undefined);
        const refused = failure("wrong_state", state.split(" ")[0]);
        await db.unchangedBy(() => assert.rejects(db.queue.retry(workflowId), refused));
      });

      test(`cancel() ${REFUSES_CANCEL.includes(state) ? "refuses" : "takes"} a workflow that is ${state}`, async () => {
        const db = await fresh(backend);
        const workflowId = await arrange(db);
        if (REFUSES_CANCEL.includes(state)) {
          const refused = failure("wrong_state", state.split(" ")[0]);
          return await db.unchangedBy(() => assert.rejects(db.queue.cancel(workflowId), refused));
        }
        assert.equal(await db.queue.cancel(workflowId), undefined);
        assert.equal(await db.statusOf(workflowId), "CANCELLED");
        const open = "status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error'";
        assert.deepEqual(await db.attempts(open), []);
      });
    }

    test("retry() and cancel() of an unknown id say not_found", async () => {
      const db = await fresh(backend);
      await db.add();
      await db.unchangedBy(async () => {
        for (const id of ["4711", 0, 2n ** 63n - 1n]) {
          await assert.rejects(db.queue.retry(id), failure("not_found", String(id)));
          await assert.rejects(db.queue.cancel(id), failure("not_found", String(id)));
        }
      });
    });

    test("retry() makes the exhausted attempts pending again with no pickup counted, at their old place", async () => {
      const db = await fresh(backend);
      const { attemptId, workflowId } = await db.add({ payload: 1, tier: 2, priority: 3, key: "k" });
      const second = await db.add({ workflowId });
      const pending = await db.attempts();
      for (const { attemptId: id } of await db.queue.dequeueMany({ roles: [ROLE], limit: 2 })) await db.silence(id);
      await db.queue.reap({ maxPickups: 1 });
      const exhausted = await db.attempts();
      await db.queue.retry(workflowId);
      const rows = await db.attempts();
      assert.deepEqual(rows.map((row) => ({ ...row, fencing_token: "0" })), pending);
      for (const [place, row] of rows.entries()) assert.ok(Number(row.fencing_token) > Number(exhausted[place]?.fencing_token));
      const { status, stuck_reason } = await db.workflow(workflowId);
      assert.deepEqual([status, stuck_reason], ["ACTIVE", null]);
      const claims = await db.queue.dequeueMany({ roles: [ROLE], limit: 2 });
      assert.deepEqual(ids(claims), [second.attemptId, attemptId]);
      assert.ok(claims.every((claim) => claim.pickupCount === 0));
    });

    test("retry() gives all the pickups again", async () => {
      const db = await fresh(backend);
      const { attemptId, workflowId } = await db.stick({ role: ROLE });
      await db.queue.retry(workflowId);
      for (const pickupCount of [1, 2, 3]) {
        await db.claim();
        await db.silence(attemptId);
        const { requeued, stuck } = await db.queue.reap();
        assert.equal(only([...requeued, ...stuck]).pickupCount, pickupCount);
      }
      assert.equal(await db.statusOf(workflowId), "STUCK");
    });

    test("retry() leaves attempts alone that are not exhausted, and other workflows", async () => {
      const db = await fresh(backend);
      const other = await db.stick();
      const stuck = await db.stick();
      await db.add({ role: "unrelated" });
      await db.sql(
        `insert into workflow_attempts (workflow_id, role, status, outcome) values
         (${stuck.workflowId}, 'a', 'failed', 'refused'), (${stuck.workflowId}, 'b', 'succeeded', null),
         (${stuck.workflowId}, 'c', 'pending', null)`,
      );
      const before = await db.attempts(`attempt_id <> ${stuck.attemptId}`);
      await db.queue.retry(stuck.workflowId);
      assert.deepEqual(await db.attempts(`attempt_id <> ${stuck.attemptId}`), before);
      assert.equal(await db.statusOf(other.workflowId), "STUCK");
    });

    test("cancel() cancels every open attempt, raises its token, and leaves what has ended", async () => {
      const db = await fresh(backend);
      const { workflowId } = await db.add();
      for (const work of [{}, {}, {}, { role: "other" }, { delayMs: HOUR }]) await db.add({ workflowId, ...work });
      const stranger = await db.add({ role: "stranger" });
      await db.queue.complete(await db.claim());
      await db.queue.fail(await db.claim());
      await db.queue.fail(await db.claim(), { outcome: "worker-internal-error", error: "kept" });
      const held = await db.claim();
      const before = await db.attempts();
      const start = await db.now();
      await db.queue.cancel(workflowId);
      const after = await db.attempts();
      assert.deepEqual(after.map((row) => row.status), ["succeeded", "failed", "cancelled", "cancelled", "cancelled", "cancelled", "pending"]);
      for (const [place, row] of after.entries()) {
        const was = before[place];
        if (row.status !== "cancelled") {
          assert.deepEqual(row, was);
          continue;
        }
        assert.ok(Number(row.fencing_token) > Number(was?.fencing_token) && Number(row.finished_at) >= start);
      }
      assert.equal(await db.statusOf(stranger.workflowId), "ACTIVE");
      assert.deepEqual(await db.queue.heartbeat(held), { held: false });
      await assert.rejects(db.queue.complete(held), failure("lease_lost"));
    });

    test("what was cancelled is neither claimed nor reaped nor made pending", async () => {
      const db = await fresh(backend);
      const { workflowId, attemptId } = await db.add();
      await db.add({ workflowId, delayMs: 0 });
      await db.add({ workflowId });
      await db.claim();
      await db.silence(attemptId);
      await db.queue.cancel(workflowId);
      await db.unchangedBy(async () => {
        assert.deepEqual(await db.queue.reap(), { requeued: [], stuck: [] });
        assert.deepEqual(await db.queue.dequeue({ roles: [ROLE] }), { acquired: false, reason: "no_pending_eligible" });
      });
    });

    test("cancel() and complete() at once: one of them wins", async () => {
      const db = await fresh(backend);
      for (let round = 0; round < 25; round++) {
        const { workflowId, attemptId } = await db.add();
        const claim = await db.claim();
        const [completed, cancelled] = await Promise.allSettled([db.queue.complete(claim), db.queue.cancel(workflowId)]);
        assert.notEqual(completed.status, cancelled.status);
        const expected = completed.status === "fulfilled" ? ["SUCCEEDED", "succeeded"] : ["CANCELLED", "cancelled"];
        assert.deepEqual([await db.statusOf(workflowId), (await db.attempt(attemptId)).status], expected);
        if (completed.status === "rejected") failure("lease_lost")(completed.reason);
        if (cancelled.status === "rejected") failure("wrong_state", "SUCCEEDED")(cancelled.reason);
      }
    });
  });
}

async function claimed(db: Fixture) {
  await db.add();
  return await db.claim();
}

async function ended(db: Fixture, end: (claim: Awaited<ReturnType<Fixture["claim"]>>) => Promise<unknown>): Promise<string> {
  const claim = await claimed(db);
  await end(claim);
  return claim.workflowId;
}
