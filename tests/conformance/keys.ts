import assert from "node:assert/strict";
import { describe } from "node:test";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, type Fixture, fresh, only, range, ROLE } from "./support.ts";

const KEY = "the key";

/** What may become of the attempt with the key, by whether the key is free then. */
const FATES: Record<"held" | "free", Record<string, (db: Fixture) => Promise<unknown>>> = {
  held: {
    "is pending": (db) => db.add({ key: KEY }),
    "is scheduled": (db) => db.add({ key: KEY, delayMs: 60_000 }),
    "is claimed": (db) => claimed(db),
    "was released": async (db) => db.queue.release(await claimed(db)),
    "ended with worker-internal-error": async (db) => db.queue.fail(await claimed(db), { outcome: "worker-internal-error" }),
    "was reaped": async (db) => {
      await db.silence((await claimed(db)).attemptId);
      assert.equal((await db.queue.reap()).requeued.length, 1);
    },
    "was failed with a retry": async (db) => db.queue.fail(await claimed(db), { retry: {} }),
    "was failed with a delayed retry": async (db) => db.queue.fail(await claimed(db), { retry: { delayMs: 60_000 } }),
  },
  free: {
    "succeeded": async (db) => db.queue.complete(await claimed(db)),
    "failed": async (db) => db.queue.fail(await claimed(db)),
    "was cancelled": async (db) => db.queue.cancel((await db.add({ key: KEY })).workflowId),
    "was exhausted": (db) => db.stick({ key: KEY }),
  },
};

export function keys(backend: BackendUnderTest): void {
  describe(`${backend.name} · keys`, () => {
    for (const [fate, arrange] of Object.entries(FATES.held)) {
      test(`enqueue() returns the attempt that has the key while it ${fate}`, async () => {
        const db = await fresh(backend);
        await arrange(db);
        const holder = (await db.attempts()).at(-1);
        const again = await db.unchangedBy(() => db.queue.enqueue({ role: "other", key: KEY, payload: 2 }));
        assert.deepEqual(again, { workflowId: holder?.workflow_id, attemptId: holder?.attempt_id, created: false });
      });
    }

    for (const [fate, arrange] of Object.entries(FATES.free)) {
      test(`enqueue() makes a new attempt of a key whose attempt ${fate}`, async () => {
        const db = await fresh(backend);
        await arrange(db);
        const before = await db.attempts();
        const again = await db.add({ key: KEY });
        assert.ok(again.created && before.every((row) => row.attempt_id !== again.attemptId));
        assert.equal((await db.attempts(`key = '${KEY}'`)).length, 2);
      });
    }

    test("enqueue() makes one attempt of a key that is twice in the list", async () => {
      const db = await fresh(backend);
      const [a, b, twin, c] = await db.queue.enqueue(["a", KEY, KEY, "c"].map((key, payload) => ({ role: ROLE, key, payload })));
      assert.deepEqual([a, b, twin, c].map((each) => each?.created), [true, true, false, true]);
      assert.deepEqual({ ...twin, created: true }, b);
      assert.deepEqual((await db.attempts()).map((row) => row.payload), [0, 1, 3]);
    });

    test("enqueue() of a list in which a key is open makes the others", async () => {
      const db = await fresh(backend);
      const open = await db.add({ key: KEY });
      const done = await db.queue.enqueue([{ role: ROLE }, { role: ROLE, key: KEY }, { role: ROLE }]);
      assert.deepEqual(done.map((each) => each.created), [true, false, true]);
      assert.deepEqual(done[1], { ...open, created: false });
      assert.equal((await db.workflows()).length, 3);
    });

    test("enqueue() of an open key does not touch the workflow it names", async () => {
      const db = await fresh(backend);
      const { workflowId } = await db.add({ role: "first" });
      await db.queue.complete(await db.claim({ roles: ["first"] }));
      const open = await db.add({ key: KEY });
      const again = await db.unchangedBy(() => db.add({ key: KEY, workflowId }));
      assert.deepEqual(again, { ...open, created: false });
    });

    test("keys are compared letter by letter", async () => {
      const db = await fresh(backend);
      const unlike = ["a", "A", "a ", " a", "\u00e9", "e\u0301", "1", "01", "null", "'", "🔑"];
      const done = await db.queue.enqueue(unlike.map((key) => ({ role: ROLE, key })));
      assert.ok(done.every((each) => each.created));
      const again = await db.unchangedBy(() => db.queue.enqueue(unlike.map((key) => ({ role: ROLE, key }))));
      assert.deepEqual(again, done.map((each) => ({ ...each, created: false })));
    });

    test("many enqueues of one key at once make one attempt and give all the same ids", async () => {
      const db = await fresh(backend);
      const done = await Promise.all([
        ...range(10).map(() => db.add({ key: KEY })),
        ...range(10).map(async (n) => (await db.queue.enqueue([{ role: ROLE, key: `k${n}` }, { role: ROLE, key: KEY }]))[1]),
      ]);
      assert.equal(done.filter((each) => each?.created).length, 1);
      assert.equal(new Set(done.map((each) => `${each?.attemptId}/${each?.workflowId}`)).size, 1);
      only(await db.attempts(`key = '${KEY}'`));
    });

    test("complete() with a next of an open key adds none", async () => {
      const db = await fresh(backend);
      await db.add({ role: "other", key: KEY });
      const { workflowId } = await db.add();
      await db.queue.complete(await db.claim(), { next: [{ role: ROLE, key: KEY }] });
      assert.equal(await db.statusOf(workflowId), "SUCCEEDED");
      only(await db.attempts(`key = '${KEY}'`));
    });

    test("complete() with a next of its own key adds it, once", async () => {
      const db = await fresh(backend);
      const { workflowId } = await db.add({ key: KEY });
      await db.queue.complete(await db.claim(), { next: [{ role: ROLE, key: KEY, payload: 1 }, { role: ROLE, key: KEY, payload: 2 }] });
      assert.equal(await db.statusOf(workflowId), "ACTIVE");
      assert.deepEqual((await db.attempts(`key = '${KEY}'`)).map((row) => [row.status, row.payload]), [["succeeded", null], ["pending", 1]]);
    });

    test("retry() is refused when the key of an exhausted attempt is open elsewhere", async () => {
      const db = await fresh(backend);
      const stuck = await db.stick({ key: KEY });
      const open = await db.add({ key: KEY });
      await db.unchangedBy(() => assert.rejects(db.queue.retry(stuck.workflowId), failure("wrong_state", KEY)));
      await db.queue.cancel(open.workflowId);
      await db.queue.retry(stuck.workflowId);
      assert.equal((await db.attempt(stuck.attemptId)).status, "pending");
    });
  });
}

async function claimed(db: Fixture) {
  await db.add({ key: KEY });
  return await db.claim();
}
