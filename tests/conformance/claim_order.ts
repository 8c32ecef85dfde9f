import assert from "node:assert/strict";
import { describe } from "node:test";
import fc from "fast-check";
import type { Claim } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { type Fixture, fresh, ids, range, ROLE, runs } from "./support.ts";

// Even, and no multiple of 7919.
const MANY = 2 * runs(100);

export function claimOrder(backend: BackendUnderTest): void {
  describe(`${backend.name} · claim order`, () => {
    test("claims come by priority, created_at and id, across the listed roles", async () => {
      const db = await fresh(backend);
      const row = fc.record({
        role: fc.constantFrom("a", "b", "c", "unlisted"),
        priority: fc.constantFrom(-(2 ** 31), -1, 0, 0, 1, 2 ** 31 - 1),
        second: fc.integer({ min: -3, max: 3 }),
      });
      const backlog = fc.array(row, { minLength: 1, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(backlog, fc.array(fc.integer({ min: 1, max: 12 })), async (rows, limits) => {
          await db.sql("delete from workflow_attempts");
          await insert(db, rows.map(({ role, priority, second }) => `'${role}', ${priority}, ${db.instant(second * 1000)}`));
          const stored = await db.attempts("role <> 'unlisted'");
          const wanted = stored.toSorted((a, b) =>
            a.priority - b.priority || a.created_at - b.created_at || Number(a.attempt_id) - Number(b.attempt_id)
          );
          assert.deepEqual(ids(await drain(db, ["c", "a", "b"], limits)), wanted.map((each) => each.attempt_id));
        }),
        { numRuns: runs(25) },
      );
    });

    test("many enqueued in one statement come in the order given", async () => {
      const db = await fresh(backend);
      const done = await db.queue.enqueue(range(MANY).map(() => ({ role: ROLE })));
      assert.deepEqual(ids(await drain(db, [ROLE])), ids(done));
    });

    test("many enqueued one by one come in the order of their enqueues", async () => {
      const db = await fresh(backend);
      const done = [];
      for (const n of range(MANY)) done.push(await db.add({ role: `${n % 3}` }));
      assert.deepEqual(ids(await drain(db, ["0", "1", "2"])), ids(done));
    });

    test("many of the same instant come by id, one by one and in batches", async () => {
      const db = await fresh(backend);
      for (const limits of [[], range(MANY).map(() => 7)]) {
        const done = await db.queue.enqueue(range(MANY).map((n) => ({ role: `${n % 5}` })));
        await db.sql(`update workflow_attempts set created_at = ${db.instant(0)}`);
        assert.deepEqual(ids(await drain(db, range(5).map(String), limits)), ids(done));
      }
    });

    test("the order does not depend on where the rows lie", async () => {
      const db = await fresh(backend);
      const done = await db.queue.enqueue(range(MANY).map((n) => ({ role: `${n % 2}` })));
      for (const n of range(MANY)) {
        await db.sql(`update workflow_attempts set tier = ${n} where attempt_id = ${done[(n * 7919) % MANY]?.attemptId}`);
      }
      assert.deepEqual(ids(await drain(db, ["0", "1"], [MANY / 2, MANY])), ids(done));
    });

    test("a reaped attempt comes first, before younger ones", async () => {
      const db = await fresh(backend);
      const [first, second] = await db.queue.enqueue(range(3).map(() => ({ role: ROLE })));
      await db.claim();
      await db.silence(String(first?.attemptId));
      await db.queue.reap();
      assert.equal((await db.claim()).attemptId, first?.attemptId);
      assert.equal((await db.claim()).attemptId, second?.attemptId);
    });

    test("an attempt whose worker broke comes first once it was reaped", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue(range(2).map(() => ({ role: ROLE })));
      const claim = await db.claim();
      await db.queue.fail(claim, { outcome: "worker-internal-error" });
      await db.queue.reap();
      assert.equal((await db.claim()).attemptId, claim.attemptId);
    });

    test("a released attempt goes back to its old place", async () => {
      const db = await fresh(backend);
      const done = await db.queue.enqueue(range(4).map(() => ({ role: ROLE })));
      const [, second] = await db.queue.dequeueMany({ roles: [ROLE], limit: 2 });
      await db.queue.release(second as Claim);
      assert.deepEqual(ids(await drain(db, [ROLE])), ids(done.slice(1)));
    });

    test("the retry of a failed attempt comes last of its priority", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue([{ role: ROLE, payload: 1 }, { role: ROLE, payload: 2 }, { role: ROLE, payload: 3, priority: 1 }]);
      await db.queue.fail(await db.claim(), { retry: {} });
      assert.deepEqual((await drain(db, [ROLE])).map((claim) => claim.payload), [2, 1, 3]);
    });

    test("an attempt that was scheduled comes at the place of its enqueue once it is due", async () => {
      const db = await fresh(backend);
      await db.add({ payload: 1, delayMs: 0 });
      await db.add({ payload: 2 });
      await db.queue.reap();
      assert.deepEqual((await drain(db, [ROLE])).map((claim) => claim.payload), [1, 2]);
    });
  });
}

function insert(db: Fixture, rows: readonly string[]): Promise<unknown> {
  const values = rows.map((row) => `(1, ${row})`).join(", ");
  return db.sql(`insert into workflow_attempts (workflow_id, role, priority, created_at) values ${values}`);
}

/** Claims until nothing is left: batches of the given sizes, then one by one. */
async function drain(db: Fixture, roles: readonly string[], limits: readonly number[] = []): Promise<Claim[]> {
  const claims: Claim[] = [];
  for (const limit of limits) {
    const batch = await db.queue.dequeueMany({ roles, limit });
    assert.ok(batch.length <= limit);
    claims.push(...batch);
  }
  for (;;) {
    const result = await db.queue.dequeue({ roles });
    if (!result.acquired) return claims;
    claims.push(result);
  }
}
