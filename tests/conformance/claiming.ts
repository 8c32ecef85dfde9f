import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Claim } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { acquired, fresh, ids, only, range, ROLE } from "./support.ts";

const NOTHING = { acquired: false, reason: "no_pending_eligible" };
const OVER_LIMIT = { acquired: false, reason: "pickup_limit_exceeded" };

export function claiming(backend: BackendUnderTest): void {
  describe(`${backend.name} · claiming`, () => {
    test("dequeue() stamps the attempt and gives it whole", async () => {
      const db = await fresh(backend);
      const { attemptId, workflowId } = await db.add({ tier: 2, priority: -1, payload: "x", key: "k" });
      const pending = await db.attempt(attemptId);
      const before = await db.now();
      const claim = await db.claim({ instanceId: "me" });
      const after = await db.now();
      assert.deepEqual(claim, {
        acquired: true,
        attemptId,
        workflowId,
        role: ROLE,
        tier: 2,
        priority: -1,
        attemptNumber: 1,
        pickupCount: 0,
        key: "k",
        payload: "x",
        instanceId: "me",
        fencingToken: "1",
      });
      const row = await db.attempt(attemptId);
      const at = Number(row.locked_at);
      assert.ok(before <= at && at <= after);
      assert.deepEqual(row, {
        ...pending,
        status: "in_progress",
        locked_by_instance: "me",
        locked_at: at,
        lock_heartbeat_at: at,
        started_at: at,
        fencing_token: "1",
      });
    });

    test("dequeue() gives null for a tier, key and payload that were left out", async () => {
      const db = await fresh(backend);
      await db.add();
      const { tier, key, payload } = await db.claim();
      assert.deepEqual({ tier, key, payload }, { tier: null, key: null, payload: null });
    });

    test("dequeue() leaves the workflow as it is", async () => {
      const db = await fresh(backend);
      await db.add();
      const before = await db.workflows();
      await db.claim();
      assert.deepEqual(await db.workflows(), before);
    });

    test("dequeue() claims as the instance of the call, else of the queue", async () => {
      const db = await fresh(backend, { instanceId: "the queue's" });
      await db.queue.enqueue([{ role: ROLE }, { role: ROLE }, { role: ROLE }]);
      assert.equal((await db.claim()).instanceId, "the queue's");
      assert.equal((await db.claim({ instanceId: "the call's" })).instanceId, "the call's");
      const [last] = await db.queue.dequeueMany({ roles: [ROLE], limit: 1, instanceId: "another" });
      assert.equal(last?.instanceId, "another");
      const owners = (await db.attempts()).map((row) => row.locked_by_instance);
      assert.deepEqual(owners, ["the queue's", "the call's", "another"]);
    });

    test("dequeue() takes only the roles it was given, letter by letter", async () => {
      const db = await fresh(backend);
      const roles = ["builder", "Builder", "builder ", "build", "b%", "b_ilder", "a,b", '["builder"]', "null"];
      await db.queue.enqueue(roles.map((role) => ({ role })));
      for (const role of roles.toReversed()) {
        assert.equal((await db.claim({ roles: [role] })).role, role);
        assert.deepEqual(await db.queue.dequeue({ roles: [role] }), NOTHING);
      }
    });

    test("dequeue() takes a role that is listed twice once", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue([{ role: ROLE }, { role: ROLE }]);
      assert.equal((await db.queue.dequeueMany({ roles: [ROLE, "other", ROLE], limit: 5 })).length, 2);
    });

    test("dequeue() with 70,000 roles finds the one that waits", async () => {
      const db = await fresh(backend);
      const roles = range(70_000).map((n) => `role ${n}`);
      await db.add({ role: "role 69999" });
      assert.equal((await db.claim({ roles })).role, "role 69999");
      assert.deepEqual(await db.queue.dequeue({ roles }), NOTHING);
      assert.deepEqual(await db.queue.dequeueMany({ roles, limit: 3 }), []);
    });

    test("dequeue() says no_roles_configured for an empty list, whatever waits", async () => {
      const db = await fresh(backend);
      await db.add();
      await db.unchangedBy(async () => {
        assert.deepEqual(await db.queue.dequeue({ roles: [] }), { acquired: false, reason: "no_roles_configured" });
        assert.deepEqual(await db.queue.dequeueMany({ roles: [], limit: 1 }), []);
      });
    });

    test("dequeue() says no_pending_eligible when nothing of its roles is pending, and changes nothing", async () => {
      const db = await fresh(backend);
      assert.deepEqual(await db.queue.dequeue({ roles: [ROLE] }), NOTHING);
      await db.queue.enqueue(range(5).map(() => ({ role: ROLE })));
      const [done, broken, gone] = await db.queue.dequeueMany({ roles: [ROLE], limit: 4 });
      await db.queue.complete(done as Claim);
      await db.queue.fail(broken as Claim, { outcome: "worker-internal-error" });
      await db.queue.cancel(String(gone?.workflowId));
      await db.claim();
      await db.queue.enqueue([{ role: ROLE, delayMs: 60_000 }, { role: "other" }]);
      await db.unchangedBy(async () => {
        assert.deepEqual(await db.queue.dequeue({ roles: [ROLE] }), NOTHING);
        assert.deepEqual(await db.queue.dequeueMany({ roles: [ROLE], limit: 5 }), []);
      });
    });

    test("dequeue() says pickup_limit_exceeded when all that is pending is over the limit, and changes nothing", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue([{ role: ROLE }, { role: ROLE }]);
      await db.sql("update workflow_attempts set pickup_count = 2 + attempt_id % 2");
      await db.unchangedBy(async () => {
        assert.deepEqual(await db.queue.dequeue({ roles: [ROLE], maxPickups: 2 }), OVER_LIMIT);
        assert.deepEqual(await db.queue.dequeue({ roles: ["other"], maxPickups: 2 }), NOTHING);
        assert.deepEqual(await db.queue.dequeueMany({ roles: [ROLE], maxPickups: 2, limit: 5 }), []);
      });
      assert.equal((await db.claim({ maxPickups: 3 })).pickupCount, 2);
      assert.deepEqual(await db.queue.dequeue({ roles: [ROLE], maxPickups: 3 }), OVER_LIMIT);
      assert.equal((await db.claim({ maxPickups: 4 })).pickupCount, 3);
      assert.deepEqual(await db.queue.dequeue({ roles: [ROLE], maxPickups: 1 }), NOTHING);
    });

    test("dequeue() goes by the queue's maxPickups unless told otherwise, by default 3", async () => {
      const db = await fresh(backend);
      await db.add();
      for (const [maxPickups, limit] of [[undefined, 3], [1, 1], [7, 7]] as const) {
        const queue = db.opened.queue(maxPickups === undefined ? {} : { maxPickups });
        await db.sql(`update workflow_attempts set pickup_count = ${limit}`);
        assert.deepEqual(await queue.dequeue({ roles: [ROLE] }), OVER_LIMIT);
        await db.sql(`update workflow_attempts set pickup_count = ${limit} - 1`);
        await queue.release(acquired(await queue.dequeue({ roles: [ROLE] })));
      }
    });

    test("dequeue() passes by attempts over the limit without losing the order", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue(range(100).map(() => ({ role: "poisoned" })));
      await db.sql("update workflow_attempts set pickup_count = 3");
      const first = await db.add({ role: "poisoned" });
      const second = await db.add({ role: "healthy" });
      const claims = [await db.claim({ roles: ["poisoned", "healthy"] }), await db.claim({ roles: ["poisoned", "healthy"] })];
      assert.deepEqual(ids(claims), ids([first, second]));
    });

    test("dequeueMany() passes by attempts over the limit and still brings all it may", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue(range(100).map(() => ({ role: ROLE })));
      await db.sql("update workflow_attempts set pickup_count = 3");
      const free = await db.queue.enqueue(range(5).map(() => ({ role: ROLE })));
      assert.deepEqual(ids(await db.queue.dequeueMany({ roles: [ROLE], limit: 4 })), ids(free.slice(0, 4)));
    });

    test("dequeueMany() gives claims as dequeue() does, never more than limit", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue(range(5).map((payload) => ({ role: ROLE, payload })));
      const single = await db.claim({ instanceId: "me" });
      const many = await db.queue.dequeueMany({ roles: [ROLE], limit: 3, instanceId: "me" });
      assert.deepEqual(many.map((claim) => claim.payload), [1, 2, 3]);
      assert.deepEqual(Object.keys(many[0] ?? {}), Object.keys(single));
      const all = await db.queue.dequeueMany({ roles: [ROLE], limit: 2 ** 31 - 1 });
      assert.deepEqual(all.map((claim) => claim.payload), [4]);
      assert.deepEqual(await db.queue.dequeueMany({ roles: [ROLE], limit: 1 }), []);
      const held = await db.queue.heartbeat([single, ...many, ...all]);
      assert.ok(held.every((each) => each.held));
    });

    test("dequeueMany() stamps its claims as dequeue() does", async () => {
      const db = await fresh(backend);
      await db.add();
      const before = await db.now();
      only(await db.queue.dequeueMany({ roles: [ROLE], limit: 9, instanceId: "me" }));
      const after = await db.now();
      const { status, locked_by_instance, locked_at, lock_heartbeat_at, started_at, fencing_token } = only(await db.attempts());
      assert.deepEqual([status, locked_by_instance, fencing_token], ["in_progress", "me", "1"]);
      for (const at of [locked_at, lock_heartbeat_at, started_at]) assert.ok(before <= Number(at) && Number(at) <= after);
    });

    test("an operation can be taken out of the queue and passed around", async () => {
      const db = await fresh(backend);
      const { enqueue, dequeue, heartbeat, complete } = db.queue;
      await enqueue({ role: ROLE });
      const claim = acquired(await dequeue({ roles: [ROLE] }));
      assert.deepEqual(await heartbeat(claim), { held: true });
      await complete(claim);
    });

    test("dequeue() of many at once never gives an attempt twice, and leaves none", async () => {
      const db = await fresh(backend);
      const done = await db.queue.enqueue(range(60).map(() => ({ role: ROLE })));
      const single = await Promise.all(range(30).map(() => db.queue.dequeue({ roles: [ROLE] })));
      const batches = await Promise.all(range(10).map(() => db.queue.dequeueMany({ roles: [ROLE], limit: 2 })));
      assert.ok(batches.every((batch) => batch.length <= 2));
      const rest = await db.queue.dequeueMany({ roles: [ROLE], limit: 60 });
      const claims = [...single.map((result) => acquired(result)), ...batches.flat(), ...rest];
      assert.deepEqual(ids(claims).toSorted(), ids(done).toSorted());
    });
  });
}
