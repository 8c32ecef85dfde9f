import assert from "node:assert/strict";
import { describe } from "node:test";
import fc from "fast-check";
import type { NewWork } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, fresh, HOUR, ids, only, range, ROLE, runs } from "./support.ts";

export function enqueue(backend: BackendUnderTest): void {
  describe(`${backend.name} · enqueue`, () => {
    test("enqueue() makes an ACTIVE workflow with one pending attempt", async () => {
      const db = await fresh(backend);
      const before = await db.now();
      const done = await db.queue.enqueue({ role: ROLE });
      const after = await db.now();
      const { created_at, ...attempt } = only(await db.attempts());
      assert.deepEqual(attempt, {
        attempt_id: done.attemptId,
        workflow_id: done.workflowId,
        role: ROLE,
        tier: null,
        priority: 0,
        status: "pending",
        outcome: null,
        payload: null,
        result: null,
        error: null,
        key: null,
        attempt_number: 1,
        pickup_count: 0,
        fencing_token: "0",
        locked_by_instance: null,
        locked_at: null,
        lock_heartbeat_at: null,
        started_at: null,
        finished_at: null,
        run_at: null,
      });
      const workflow = only(await db.workflows());
      assert.deepEqual([workflow.workflow_id, workflow.status, workflow.stuck_reason], [done.workflowId, "ACTIVE", null]);
      for (const time of [created_at, workflow.created_at, workflow.updated_at]) assert.ok(before <= time && time <= after);
      assert.deepEqual(Object.keys(done).sort(), ["attemptId", "created", "workflowId"]);
      assert.deepEqual([typeof done.attemptId, typeof done.workflowId, done.created], ["string", "string", true]);
    });

    test("enqueue() stores what it is given, and the claim brings it back", async () => {
      const db = await fresh(backend);
      const given = { tier: -7, priority: 9, payload: { a: [1, null] }, key: "k" };
      const { attemptId } = await db.add(given);
      const { tier, priority, payload, key } = await db.attempt(attemptId);
      assert.deepEqual({ tier, priority, payload, key }, given);
      const claim = await db.claim();
      assert.deepEqual({ tier: claim.tier, priority: claim.priority, payload: claim.payload, key: claim.key }, given);
    });

    test("enqueue() takes null and undefined for left out", async () => {
      const db = await fresh(backend);
      const optional = ["tier", "payload", "priority", "workflowId", "key", "delayMs", "runAt"];
      const nothing = Object.fromEntries(optional.map((name) => [name, undefined]));
      await db.queue.enqueue([{ role: ROLE }, { role: ROLE, ...nothing }, { role: ROLE, tier: null, payload: null, key: null }]);
      const rows = (await db.attempts()).map(({ attempt_id, workflow_id, created_at, ...row }) => row);
      assert.deepEqual(rows[1], rows[0]);
      assert.deepEqual(rows[2], rows[0]);
    });

    test("enqueue() of 20,000 gives their ids in the order given", async () => {
      const db = await fresh(backend);
      const done = await db.queue.enqueue(range(20_000).map((n) => ({ role: ROLE, payload: n })));
      assert.deepEqual(ids(done), ids(done).toSorted((a, b) => Number(a) - Number(b)));
      assert.equal(new Set(done.map((each) => each.workflowId)).size, 20_000);
      const rows = await db.attempts();
      assert.deepEqual(rows.map((row) => row.payload), range(20_000));
      assert.deepEqual(rows.map((row) => row.attempt_id), ids(done));
      assert.deepEqual(rows.map((row) => row.workflow_id), done.map((each) => each.workflowId));
    });

    test("enqueue() gives one result for each item, in order, whatever is mixed in the list", async () => {
      const db = await fresh(backend);
      const open = await db.queue.enqueue([{ role: "elsewhere" }, { role: "elsewhere" }]);
      const item = fc.record({
        workflowId: fc.option(fc.constantFrom(...open.map((each) => each.workflowId)), { nil: undefined }),
        key: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
        delayMs: fc.option(fc.nat(), { nil: undefined }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(item, { maxLength: 12 }), async (list) => {
          await db.sql("delete from workflow_attempts");
          const done = await db.queue.enqueue(list.map((each, n) => ({ role: ROLE, payload: n, ...each }) as NewWork));
          assert.equal(done.length, list.length);
          const rows = new Map((await db.attempts()).map((row) => [row.attempt_id, row]));
          assert.equal(rows.size, done.filter((each) => each.created).length);
          for (const [place, { attemptId, workflowId, created }] of done.entries()) {
            const { key = null, delayMs, workflowId: joined } = list[place] ?? {};
            const first = key === null ? place : list.findIndex((each) => each.key === key);
            const row = rows.get(attemptId);
            assert.deepEqual([created, row?.payload, row?.workflow_id], [first === place, first, workflowId]);
            if (!created) continue;
            assert.deepEqual([row?.key, row?.status], [key, delayMs === undefined ? "pending" : "scheduled"]);
            if (joined === undefined) assert.ok(!open.some((each) => each.workflowId === workflowId));
            else assert.equal(workflowId, joined);
          }
          const made = done.filter((each) => each.created).map((each) => BigInt(each.attemptId));
          assert.deepEqual(made, made.toSorted((a, b) => Number(a - b)));
        }),
        { numRuns: runs(40) },
      );
    });

    test("enqueue() to a workflow adds an attempt and no workflow", async () => {
      const db = await fresh(backend);
      const first = await db.add();
      const second = await db.add({ workflowId: first.workflowId });
      assert.equal(second.workflowId, first.workflowId);
      assert.notEqual(second.attemptId, first.attemptId);
      assert.equal((await db.workflows()).length, 1);
      assert.equal((await db.attempt(second.attemptId)).attempt_number, 1);
    });

    test("enqueue() makes a SUCCEEDED or FAILED workflow ACTIVE again", async () => {
      const db = await fresh(backend);
      for (const end of [db.queue.complete, db.queue.fail]) {
        const { workflowId } = await db.add();
        await end(await db.claim());
        const ended = await db.workflow(workflowId);
        await db.add({ role: "next", workflowId });
        const again = await db.workflow(workflowId);
        assert.deepEqual([ended.status === "ACTIVE", again.status], [false, "ACTIVE"]);
        assert.ok(again.updated_at >= ended.updated_at);
      }
    });

    test("enqueue() to a STUCK, CANCELLED or unknown workflow is refused, and nothing of the list is written", async () => {
      const db = await fresh(backend);
      const stuck = await db.stick();
      const cancelled = await db.add();
      await db.queue.cancel(cancelled.workflowId);
      const open = await db.add();
      for (
        const [workflowId, code] of [
          [stuck.workflowId, "workflow_closed"],
          [cancelled.workflowId, "workflow_closed"],
          ["4711", "not_found"],
        ] as const
      ) {
        const refused = failure(code, workflowId);
        const joined = { role: ROLE, workflowId: open.workflowId };
        for (const work of [{ role: ROLE, workflowId }, { role: ROLE, workflowId, key: "k" }]) {
          await db.unchangedBy(() => assert.rejects(db.queue.enqueue(work), refused));
          await db.unchangedBy(() => assert.rejects(db.queue.enqueue([{ role: ROLE }, joined, work, { role: ROLE, key: "l" }]), refused));
        }
      }
    });

    test("enqueue() with one item refused writes nothing of the list", async () => {
      const db = await fresh(backend);
      await db.unchangedBy(() =>
        assert.rejects(db.queue.enqueue([...range(50).map(() => ({ role: ROLE })), { role: "" }]), failure("invalid_argument"))
      );
    });

    test("enqueue() of an empty list gives an empty list", async () => {
      const db = await fresh(backend);
      assert.deepEqual(await db.unchangedBy(() => db.queue.enqueue([])), []);
    });

    test("enqueue() with delayMs counts on the database's clock", async () => {
      const db = await fresh(backend);
      for (const delayMs of [0, 1, 999, 36_525 * 86_400_000]) {
        const before = await db.now();
        const { attemptId } = await db.add({ delayMs });
        const after = await db.now();
        const { status, run_at } = await db.attempt(attemptId);
        assert.equal(status, "scheduled");
        assert.ok(before + delayMs - 1 <= Number(run_at) && Number(run_at) <= after + delayMs + 1, `${delayMs}`);
      }
    });

    test("enqueue() with runAt keeps the instant, however it is written", async () => {
      const db = await fresh(backend);
      const instant = Date.UTC(2124, 1, 29, 12, 0, 0, 123);
      const texts = ["2124-02-29T12:00:00.123Z", "2124-02-29T14:00:00.123+02:00", "2124-02-29T12:00:00.123000Z"];
      for (const runAt of [new Date(instant), ...texts]) {
        const { attemptId } = await db.add({ runAt });
        assert.deepEqual([(await db.attempt(attemptId)).run_at, String(runAt)], [instant, String(runAt)]);
      }
    });

    test("a scheduled attempt is not claimed before a reap finds it due, even if it was due at once", async () => {
      const db = await fresh(backend);
      const due = [await db.add({ delayMs: 0 }), await db.add({ runAt: new Date(0) }), await db.add({ runAt: "0001-01-01T00:00:00Z" })];
      await db.add({ delayMs: HOUR });
      await db.add({ runAt: "9999-12-31T23:59:59.999Z" });
      assert.deepEqual(await db.queue.dequeue({ roles: [ROLE] }), { acquired: false, reason: "no_pending_eligible" });
      assert.deepEqual(await db.queue.reap(), { requeued: [], stuck: [] });
      assert.deepEqual(ids(await db.queue.dequeueMany({ roles: [ROLE], limit: 9 })), ids(due));
      assert.deepEqual((await db.attempts("pickup_count > 0")).length, 0);
    });
  });
}
