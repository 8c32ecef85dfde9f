import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Claim } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { type Fixture, fresh, HOUR, ROLE } from "./support.ts";

const BROKEN = { outcome: "worker-internal-error" };

/** What happens to a workflow with two claimed attempts, and the status after each event. */
const STORIES: Record<string, [event: (db: Fixture, one: Claim, two: Claim) => Promise<unknown>, status: string][]> = {
  "both succeed": [
    [(db, one) => db.queue.complete(one), "ACTIVE"],
    [(db, _, two) => db.queue.complete(two), "SUCCEEDED"],
  ],
  "both fail": [
    [(db, one) => db.queue.fail(one), "FAILED"],
    [(db, _, two) => db.queue.fail(two), "FAILED"],
  ],
  "one fails, later the other succeeds": [
    [(db, one) => db.queue.fail(one), "FAILED"],
    [(db, _, two) => db.queue.complete(two), "FAILED"],
  ],
  "one succeeds, the other fails": [
    [(db, one) => db.queue.complete(one), "ACTIVE"],
    [(db, _, two) => db.queue.fail(two), "FAILED"],
  ],
  "one is failed with a retry that succeeds": [
    [(db, one) => db.queue.fail(one, { retry: {} }), "ACTIVE"],
    [(db, _, two) => db.queue.complete(two), "ACTIVE"],
    [async (db) => db.queue.complete(await db.claim()), "SUCCEEDED"],
  ],
  "one is failed with a delayed retry": [
    [(db, one) => db.queue.complete(one), "ACTIVE"],
    [(db, _, two) => db.queue.fail(two, { retry: { delayMs: HOUR } }), "ACTIVE"],
  ],
  "one fails, the other is failed with a retry that succeeds": [
    [(db, one) => db.queue.fail(one), "FAILED"],
    [(db, _, two) => db.queue.fail(two, { retry: {} }), "FAILED"],
    [async (db) => db.queue.complete(await db.claim()), "FAILED"],
  ],
  "one breaks, the other succeeds": [
    [(db, one) => db.queue.fail(one, BROKEN), "ACTIVE"],
    [(db, _, two) => db.queue.complete(two), "ACTIVE"],
    [(db) => db.queue.reap(), "ACTIVE"],
    [async (db) => db.queue.complete(await db.claim()), "SUCCEEDED"],
  ],
  "one is released": [
    [(db, one) => db.queue.release(one), "ACTIVE"],
    [(db, _, two) => db.queue.complete(two), "ACTIVE"],
  ],
  "one is reaped": [
    [(db, one) => reap(db, one), "ACTIVE"],
    [(db, _, two) => db.queue.complete(two), "ACTIVE"],
    [async (db) => db.queue.complete(await db.claim()), "SUCCEEDED"],
  ],
  "one is exhausted, the other succeeds": [
    [(db, one) => reap(db, one, 1), "STUCK"],
    [(db, _, two) => db.queue.complete(two), "STUCK"],
    [(db, one) => db.queue.retry(one.workflowId), "ACTIVE"],
    [async (db) => db.queue.complete(await db.claim()), "SUCCEEDED"],
  ],
  "one is exhausted, the other fails": [
    [(db, one) => reap(db, one, 1), "STUCK"],
    [(db, _, two) => db.queue.fail(two), "STUCK"],
    [(db, one) => db.queue.retry(one.workflowId), "ACTIVE"],
  ],
  "one fails, the other is exhausted": [
    [(db, one) => db.queue.fail(one), "FAILED"],
    [(db, _, two) => reap(db, two, 1), "STUCK"],
  ],
  "it is cancelled": [
    [(db, one) => db.queue.cancel(one.workflowId), "CANCELLED"],
    [(db) => db.queue.reap(), "CANCELLED"],
  ],
  "one fails and it is cancelled": [
    [(db, one) => db.queue.fail(one), "FAILED"],
    [(db, one) => db.queue.cancel(one.workflowId), "CANCELLED"],
  ],
  "it is stuck and cancelled": [
    [(db, one) => reap(db, one, 1), "STUCK"],
    [(db, one) => db.queue.cancel(one.workflowId), "CANCELLED"],
  ],
  "the last adds a next": [
    [(db, one) => db.queue.complete(one), "ACTIVE"],
    [(db, _, two) => db.queue.complete(two, { next: [{ role: ROLE }] }), "ACTIVE"],
    [async (db) => db.queue.complete(await db.claim()), "SUCCEEDED"],
  ],
  "the last adds a scheduled next": [
    [(db, one) => db.queue.complete(one), "ACTIVE"],
    [(db, _, two) => db.queue.complete(two, { next: [{ role: ROLE, delayMs: HOUR }] }), "ACTIVE"],
  ],
  "one fails, the other adds a next": [
    [(db, one) => db.queue.fail(one), "FAILED"],
    [(db, _, two) => db.queue.complete(two, { next: [{ role: ROLE }] }), "ACTIVE"],
    [async (db) => db.queue.complete(await db.claim()), "SUCCEEDED"],
  ],
  "one is exhausted, the other adds a next": [
    [(db, one) => reap(db, one, 1), "STUCK"],
    [(db, _, two) => db.queue.complete(two, { next: [{ role: ROLE }] }), "STUCK"],
    [async (db) => db.queue.complete(await db.claim()), "STUCK"],
  ],
  "it succeeds and gets more work": [
    [(db, one) => db.queue.complete(one), "ACTIVE"],
    [(db, _, two) => db.queue.complete(two), "SUCCEEDED"],
    [(db, one) => db.add({ workflowId: one.workflowId }), "ACTIVE"],
    [async (db) => db.queue.fail(await db.claim()), "FAILED"],
    [(db, one) => db.add({ workflowId: one.workflowId, delayMs: HOUR }), "ACTIVE"],
  ],
};

export function workflowStatus(backend: BackendUnderTest): void {
  describe(`${backend.name} · workflow status`, () => {
    for (const [name, story] of Object.entries(STORIES)) {
      test(`of a workflow with two attempts: ${name}`, async () => {
        const db = await fresh(backend);
        const { workflowId } = await db.add();
        await db.add({ workflowId });
        const one = await db.claim();
        const two = await db.claim();
        for (const [place, [event, status]] of story.entries()) {
          const before = await db.workflow(workflowId);
          await event(db, one, two);
          const after = await db.workflow(workflowId);
          assert.equal(after.status, status, `after event ${place + 1}`);
          if (status !== "CANCELLED") assert.equal(after.stuck_reason, status === "STUCK" ? "attempt-pickup-exhausted" : null);
          assert.ok(after.created_at === before.created_at && after.updated_at >= before.updated_at);
        }
      });
    }

    test("an attempt stays claimable while its workflow is FAILED or STUCK", async () => {
      const db = await fresh(backend);
      const failed = await db.add({ role: "first" });
      await db.add({ workflowId: failed.workflowId, payload: "sibling of failed" });
      await db.queue.fail(await db.claim({ roles: ["first"] }));
      const stuck = await db.add({ role: "doomed" });
      await db.add({ workflowId: stuck.workflowId, payload: "sibling of stuck" });
      await reap(db, await db.claim({ roles: ["doomed"] }), 1);
      for (const payload of ["sibling of failed", "sibling of stuck"]) {
        const claim = await db.claim();
        assert.equal(claim.payload, payload);
        await db.queue.complete(claim);
      }
      assert.deepEqual([await db.statusOf(failed.workflowId), await db.statusOf(stuck.workflowId)], ["FAILED", "STUCK"]);
    });

    test("two last completions at once leave the workflow SUCCEEDED", async () => {
      const db = await fresh(backend);
      for (let round = 0; round < 25; round++) {
        const { workflowId } = await db.add();
        await db.queue.enqueue([{ role: ROLE, workflowId }, { role: ROLE, workflowId }]);
        const claims = await db.queue.dequeueMany({ roles: [ROLE], limit: 3 });
        await Promise.all(claims.map((claim) => db.queue.complete(claim)));
        assert.equal(await db.statusOf(workflowId), "SUCCEEDED", `round ${round}`);
      }
    });

    test("a last completion and new work at once leave no ended workflow with open attempts", async () => {
      const db = await fresh(backend);
      for (let round = 0; round < 25; round++) {
        const { workflowId } = await db.add();
        const claim = await db.claim();
        await Promise.all([db.queue.complete(claim), db.add({ workflowId, role: "late" })]);
        assert.equal(await db.statusOf(workflowId), "ACTIVE", `round ${round}`);
      }
    });

    test("a last completion and a failure at once leave the workflow FAILED", async () => {
      const db = await fresh(backend);
      for (let round = 0; round < 25; round++) {
        const { workflowId } = await db.add();
        await db.add({ workflowId });
        const [one, two] = [await db.claim(), await db.claim()];
        await Promise.all(round % 2 ? [db.queue.complete(one), db.queue.fail(two)] : [db.queue.fail(one), db.queue.complete(two)]);
        assert.equal(await db.statusOf(workflowId), "FAILED", `round ${round}`);
      }
    });
  });
}

async function reap(db: Fixture, claim: Claim, maxPickups: number = 3): Promise<void> {
  await db.silence(claim.attemptId);
  const { requeued, stuck } = await db.queue.reap({ maxPickups });
  assert.equal(requeued.length + stuck.length, 1);
}
