import assert from "node:assert/strict";
import { describe } from "node:test";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, fresh, ids, only, ROLE, runs } from "./support.ts";

const WORK = { tier: 3, priority: 5, payload: { deep: ["x"] }, key: "k" };

export function finishing(backend: BackendUnderTest): void {
  describe(`${backend.name} · finishing`, () => {
    test("complete() stores outcome, result and time", async () => {
      const db = await fresh(backend);
      await db.add(WORK);
      const claim = await db.claim({ instanceId: "me" });
      const held = await db.attempt(claim.attemptId);
      const before = await db.now();
      await db.queue.complete(claim, { outcome: "built", result: { size: 1 } });
      const after = await db.now();
      const row = await db.attempt(claim.attemptId);
      assert.ok(before <= Number(row.finished_at) && Number(row.finished_at) <= after);
      assert.deepEqual(row, { ...held, status: "succeeded", outcome: "built", result: { size: 1 }, finished_at: row.finished_at });
    });

    test("complete() and fail() without options leave outcome, result and error null", async () => {
      const db = await fresh(backend);
      for (const [act, status] of [[db.queue.complete, "succeeded"], [db.queue.fail, "failed"]] as const) {
        for (const options of [undefined, {}, { outcome: undefined, result: undefined }, { outcome: null, result: null }]) {
          const { attemptId } = await db.add();
          await act(await db.claim(), options as object);
          const { status: got, outcome, result, error } = await db.attempt(attemptId);
          assert.deepEqual([got, outcome, result, error], [status, null, null, null]);
        }
      }
    });

    test("complete() gives nothing back, and neither do fail() and release()", async () => {
      const db = await fresh(backend);
      for (const act of [db.queue.complete, db.queue.fail, db.queue.release]) {
        await db.add();
        assert.equal(await act(await db.claim()), undefined);
      }
    });

    test("complete() adds what follows to the same workflow, in order", async () => {
      const db = await fresh(backend);
      const { workflowId, attemptId } = await db.add({ role: "first" });
      const next = [{ role: "a", ...WORK }, { role: "b" }, { role: "c", delayMs: 60_000 }, { role: "d", runAt: new Date(0) }];
      await db.queue.complete(await db.claim({ roles: ["first"] }), { next });
      const rows = (await db.attempts()).filter((row) => row.attempt_id !== attemptId);
      assert.deepEqual(rows.map((row) => `${row.role} ${row.status}`), ["a pending", "b pending", "c scheduled", "d scheduled"]);
      assert.ok(rows.every((row) => row.workflow_id === workflowId && row.attempt_number === 1 && row.fencing_token === "0"));
      const { tier, priority, payload, key } = rows[0] ?? {};
      assert.deepEqual({ tier, priority, payload, key }, WORK);
      assert.deepEqual([rows[1]?.tier, rows[1]?.priority, rows[1]?.payload, rows[1]?.key], [null, 0, null, null]);
      const delay = Number(rows[2]?.run_at) - Number(rows[2]?.created_at);
      assert.ok(59_990 <= delay && delay <= 60_010, `${delay}`);
      assert.equal(rows[3]?.run_at, 0);
      assert.equal((await db.workflows()).length, 1);
    });

    test("complete() with an empty next adds nothing", async () => {
      const db = await fresh(backend);
      const { workflowId } = await db.add();
      await db.queue.complete(await db.claim(), { next: [] });
      assert.equal(await db.statusOf(workflowId), "SUCCEEDED");
      only(await db.attempts());
    });

    test("fail() for good stores outcome, error, result and time, and keeps the owner's name", async () => {
      const db = await fresh(backend);
      await db.add(WORK);
      const claim = await db.claim({ instanceId: "me" });
      const held = await db.attempt(claim.attemptId);
      const before = await db.now();
      await db.queue.fail(claim, { outcome: "refused", error: "no such repository", result: [1] });
      const after = await db.now();
      const row = await db.attempt(claim.attemptId);
      assert.ok(before <= Number(row.finished_at) && Number(row.finished_at) <= after);
      const { finished_at } = row;
      assert.deepEqual(row, { ...held, status: "failed", outcome: "refused", error: "no such repository", result: [1], finished_at });
      assert.equal(row.locked_by_instance, "me");
      only(await db.attempts());
    });

    test("fail() with a retry ends the attempt and makes the next one of the same work", async () => {
      const db = await fresh(backend);
      const first = await db.add(WORK);
      await db.sql("update workflow_attempts set pickup_count = 1");
      for (const attempt_number of [2, 3]) {
        await db.queue.fail(await db.claim(), { outcome: "flaky", retry: {} });
        const [ended, made] = (await db.attempts()).slice(-2);
        assert.deepEqual([ended?.status, ended?.outcome, ended?.attempt_number], ["failed", "flaky", attempt_number - 1]);
        assert.deepEqual(made, {
          ...made,
          ...WORK,
          workflow_id: first.workflowId,
          role: ROLE,
          status: "pending",
          attempt_number,
          pickup_count: 0,
          fencing_token: "0",
          outcome: null,
          result: null,
          error: null,
          locked_by_instance: null,
          locked_at: null,
          lock_heartbeat_at: null,
          started_at: null,
          finished_at: null,
          run_at: null,
        });
        assert.ok(Number(made?.created_at) >= Number(ended?.created_at));
      }
      assert.equal((await db.claim()).attemptNumber, 3);
    });

    test("fail() with a retry of another tier gives it to the new attempt alone", async () => {
      const db = await fresh(backend);
      await db.add({ tier: 1 });
      for (const [tier, expected] of [[2, 2], [undefined, 2], [null, 2], [0, 0], [-(2 ** 31), -(2 ** 31)]] as const) {
        await db.queue.fail(await db.claim(), { retry: tier === undefined ? {} : { tier } });
        assert.equal((await db.attempts()).at(-1)?.tier, expected);
      }
      assert.deepEqual((await db.attempts()).map((row) => row.tier), [1, 2, 2, 2, 0, -(2 ** 31)]);
    });

    test("fail() with a delayed retry schedules it from now on the database's clock", async () => {
      const db = await fresh(backend);
      for (const delayMs of [0, 1500, 86_400_000]) {
        await db.add();
        const claim = await db.claim();
        const before = await db.now();
        await db.queue.fail(claim, { retry: { delayMs } });
        const after = await db.now();
        const { status, run_at } = (await db.attempts()).at(-1) ?? {};
        assert.equal(status, "scheduled");
        assert.ok(before + delayMs - 1 <= Number(run_at) && Number(run_at) <= after + delayMs + 1, `${delayMs}`);
      }
      await db.queue.reap();
      assert.equal((await db.queue.dequeueMany({ roles: [ROLE], limit: 9 })).length, 1);
    });

    test("fail() with worker-internal-error waits for the reaper, which gives another pickup", async () => {
      const db = await fresh(backend);
      const { attemptId, workflowId } = await db.add(WORK);
      const pending = await db.attempt(attemptId);
      const broke = { outcome: "worker-internal-error", error: "out of memory", result: 1 };
      await db.queue.fail(await db.claim({ instanceId: "me" }), broke);
      const { status, outcome, error, locked_by_instance } = await db.attempt(attemptId);
      assert.deepEqual([status, outcome, error, locked_by_instance], ["failed", broke.outcome, broke.error, "me"]);
      assert.equal(await db.statusOf(workflowId), "ACTIVE");
      assert.equal((await db.queue.dequeue({ roles: [ROLE] })).acquired, false);

      const { requeued } = await db.queue.reap();
      assert.deepEqual(requeued, [{ attemptId, workflowId, role: ROLE, pickupCount: 1, previousInstanceId: "me" }]);
      const again = await db.attempt(attemptId);
      assert.deepEqual(again, { ...pending, pickup_count: 1, fencing_token: again.fencing_token, error: "out of memory" });
      const claim = await db.claim();
      assert.deepEqual([claim.attemptId, claim.pickupCount], [attemptId, 1]);
      await db.queue.complete(claim);
      assert.equal(await db.statusOf(workflowId), "SUCCEEDED");
    });

    test("release() hands back unharmed: nothing but the token differs", async () => {
      const db = await fresh(backend);
      const { attemptId } = await db.add(WORK);
      await db.sql("update workflow_attempts set pickup_count = 2");
      const pending = await db.attempt(attemptId);
      const workflows = await db.workflows();
      const claim = await db.claim();
      await db.queue.release(claim);
      const { fencing_token, ...row } = await db.attempt(attemptId);
      assert.deepEqual({ ...row, fencing_token: "0" }, pending);
      assert.ok(Number(fencing_token) > Number(claim.fencingToken));
      assert.deepEqual(await db.workflows(), workflows);
      assert.equal((await db.claim()).pickupCount, 2);
    });

    test("a refused argument leaves the lease held", async () => {
      const db = await fresh(backend);
      await db.add();
      const claim = await db.claim();
      await db.unchangedBy(async () => {
        await assert.rejects(db.queue.complete(claim, { result: 1n }), failure("invalid_argument"));
        await assert.rejects(db.queue.complete(claim, { next: [{ role: ROLE }, { role: "" }] }), failure("invalid_argument"));
        await assert.rejects(db.queue.fail(claim, { outcome: "\0" }), failure("invalid_argument"));
      });
      await db.queue.complete(claim);
    });

    test("a life cycle of many attempts in a row loses none", async () => {
      const db = await fresh(backend);
      const done = await db.queue.enqueue(Array.from({ length: runs(300) }, () => ({ role: ROLE })));
      const claims = await db.queue.dequeueMany({ roles: [ROLE], limit: 300 });
      for (const claim of claims) {
        assert.deepEqual(await db.queue.heartbeat(claim), { held: true });
        await db.queue.complete(claim);
      }
      assert.deepEqual(ids(claims), ids(done));
      assert.ok((await db.workflows()).every((row) => row.status === "SUCCEEDED"));
    });
  });
}
