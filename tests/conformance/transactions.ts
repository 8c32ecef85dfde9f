import assert from "node:assert/strict";
import { describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Queue } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { acquired, failure, type Fixture, fresh, only, ROLE } from "./support.ts";

const ROLLBACK = new Error("rolled back on purpose");

/** Operations that change something, each with what it needs. */
const CHANGES: Record<string, (db: Fixture) => Promise<(queue: Queue) => Promise<unknown>>> = {
  "enqueue()": async () => (queue) => queue.enqueue({ role: ROLE, payload: 1 }),
  "enqueue() of a list with keys": async () => (queue) => queue.enqueue([{ role: ROLE, key: "a" }, { role: ROLE, key: "a" }, { role: ROLE }]),
  "dequeue()": async (db) => (await db.add(), (queue) => queue.dequeue({ roles: [ROLE] })),
  "dequeueMany()": async (db) => (await db.add(), (queue) => queue.dequeueMany({ roles: [ROLE], limit: 3 })),
  "heartbeat()": async (db) => {
    const claim = await claimed(db);
    await db.silence(claim.attemptId);
    return (queue) => queue.heartbeat(claim);
  },
  "complete()": async (db) => {
    const claim = await claimed(db);
    return (queue) => queue.complete(claim, { outcome: "built", next: [{ role: ROLE }] });
  },
  "fail()": async (db) => {
    const claim = await claimed(db);
    return (queue) => queue.fail(claim, { error: "broken", retry: {} });
  },
  "release()": async (db) => {
    const claim = await claimed(db);
    return (queue) => queue.release(claim);
  },
  "reap()": async (db) => {
    await db.silence((await claimed(db)).attemptId);
    return (queue) => queue.reap({ maxPickups: 1 });
  },
  "retry()": async (db) => {
    const { workflowId } = await db.stick();
    return (queue) => queue.retry(workflowId);
  },
  "cancel()": async (db) => {
    const { workflowId } = await db.add();
    return (queue) => queue.cancel(workflowId);
  },
  "prune()": async (db) => {
    await db.queue.complete(await claimed(db));
    return (queue) => queue.prune({ olderThanMs: 0 });
  },
};

export function transactions(backend: BackendUnderTest): void {
  describe(`${backend.name} · transactions`, () => {
    for (const [name, arrange] of Object.entries(CHANGES)) {
      test(`${name} vanishes with the caller's transaction and stays with it`, async () => {
        const db = await fresh(backend);
        const change = await arrange(db);
        await db.unchangedBy(() =>
          assert.rejects(
            db.opened.transaction(async (transaction) => {
              await change(db.queue.using(transaction));
              throw ROLLBACK;
            }),
            ROLLBACK,
          )
        );
        const before = await db.dump();
        await db.opened.transaction((transaction) => change(db.queue.using(transaction)));
        assert.notDeepEqual(await db.dump(), before);
      });
    }

    test("a whole life fits into one transaction", async () => {
      const db = await fresh(backend);
      await db.opened.transaction(async (transaction) => {
        const queue = db.queue.using(transaction);
        assert.deepEqual([queue.dialect, queue.instanceId], [db.queue.dialect, db.queue.instanceId]);
        await queue.enqueue({ role: ROLE });
        const claim = acquired(await queue.dequeue({ roles: [ROLE] }));
        assert.deepEqual(await queue.heartbeat(claim), { held: true });
        await queue.complete(claim);
        assert.equal((await queue.stats()).roles[0]?.succeeded, 1);
        assert.deepEqual(await queue.reap(), { requeued: [], stuck: [] });
      });
      assert.equal(only(await db.workflows()).status, "SUCCEEDED");
    });

    test("a refused operation leaves the transaction usable", async () => {
      const db = await fresh(backend);
      const stuck = await db.stick({ key: "stuck" });
      const open = await db.add({ role: "open", key: "k" });
      const lost = { attemptId: open.attemptId, instanceId: "me", fencingToken: "9" };
      const refusals: [string, (queue: Queue) => Promise<unknown>][] = [
        ["lease_lost", (queue) => queue.complete(lost, { next: [{ role: ROLE }] })],
        ["lease_lost", (queue) => queue.fail(lost, { retry: {} })],
        ["lease_lost", (queue) => queue.release(lost)],
        ["workflow_closed", (queue) => queue.enqueue({ role: ROLE, workflowId: stuck.workflowId })],
        ["workflow_closed", (queue) => queue.enqueue([{ role: ROLE, key: "x" }, { role: ROLE, workflowId: stuck.workflowId }])],
        ["not_found", (queue) => queue.enqueue([{ role: ROLE }, { role: ROLE, workflowId: 4711 }])],
        ["not_found", (queue) => queue.cancel(4711)],
        ["wrong_state", (queue) => queue.retry(open.workflowId)],
        ["invalid_argument", (queue) => queue.enqueue({ role: "" })],
        ["invalid_argument", (queue) => queue.dequeueMany({ roles: [ROLE], limit: 0 })],
      ];
      const before = await db.attempts();
      await db.opened.transaction(async (transaction) => {
        const queue = db.queue.using(transaction);
        for (const [code, refused] of refusals) await assert.rejects(refused(queue), failure(code));
        assert.deepEqual(await queue.heartbeat(lost), { held: false });
        assert.deepEqual(await queue.dequeue({ roles: ["nobody"] }), { acquired: false, reason: "no_pending_eligible" });
        assert.deepEqual(await queue.enqueue({ role: ROLE, key: "k" }), { ...open, created: false });
        const two = await queue.enqueue([{ role: ROLE, key: "k" }, { role: ROLE, key: "stuck" }]);
        assert.deepEqual(two.map((each) => each.created), [false, true]);
        await assert.rejects(queue.retry(stuck.workflowId), failure("wrong_state", "stuck"));
        await queue.enqueue({ role: "last" });
      });
      const rows = await db.attempts();
      assert.deepEqual(rows.slice(0, before.length), before);
      assert.deepEqual(rows.slice(before.length).map((row) => [row.role, row.key]), [[ROLE, "stuck"], ["last", null]]);
    });

    test("time moves inside a long transaction", async () => {
      const db = await fresh(backend);
      await db.add();
      await db.opened.transaction(async (transaction) => {
        const queue = db.queue.using(transaction);
        const claim = acquired(await queue.dequeue({ roles: [ROLE] }));
        await sleep(50);
        assert.deepEqual(await queue.heartbeat(claim), { held: true });
        await sleep(50);
        await queue.complete(claim, { next: [{ role: "next" }] });
      });
      const [row, next] = await db.attempts();
      const { updated_at } = only(await db.workflows());
      const times = [row?.locked_at, row?.lock_heartbeat_at, row?.finished_at].map(Number);
      assert.ok(Number(times[1]) - Number(times[0]) >= 45 && Number(times[2]) - Number(times[1]) >= 45, String(times));
      for (const time of [next?.created_at, updated_at]) assert.ok(Number(time) - Number(times[1]) >= 45);
    });

    test("a lease grows stale inside a long transaction", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue([{ role: ROLE }, { role: "late", delayMs: 40 }]);
      await db.opened.transaction(async (transaction) => {
        const queue = db.queue.using(transaction);
        const claim = acquired(await queue.dequeue({ roles: [ROLE] }));
        await sleep(80);
        assert.deepEqual((await queue.reap({ staleAfterMs: 40 })).requeued.map((each) => each.attemptId), [claim.attemptId]);
        acquired(await queue.dequeue({ roles: ["late"] }));
      });
    });

    test("what was enqueued one by one in a transaction comes in that order", async () => {
      const db = await fresh(backend);
      await db.opened.transaction(async (transaction) => {
        for (const payload of [1, 2, 3]) await db.queue.using(transaction).enqueue({ role: ROLE, payload });
      });
      const claims = await db.queue.dequeueMany({ roles: [ROLE], limit: 3 });
      assert.deepEqual(claims.map((claim) => claim.payload), [1, 2, 3]);
    });

    test("using() refuses what is no transaction", async () => {
      const db = await fresh(backend);
      for (const nothing of [undefined, null, {}, "begin", () => {}]) {
        assert.throws(() => db.queue.using(nothing as never), failure("unsupported_connection"));
      }
    });

    if (backend.dialect === "sqlite") {
      test("the queue itself joins a transaction that is open on its handle", async () => {
        const db = await fresh(backend);
        await db.unchangedBy(() =>
          assert.rejects(
            db.opened.transaction(async () => {
              await db.queue.enqueue([{ role: ROLE }, { role: ROLE }]);
              await db.queue.complete(await db.claim());
              await assert.rejects(db.queue.retry(4711), failure("not_found"));
              throw ROLLBACK;
            }),
            ROLLBACK,
          )
        );
        await db.opened.transaction(async () => void await db.add());
        only(await db.attempts());
      });

      test("a call that is not awaited inside a synchronous transaction is part of it", async () => {
        const db = await fresh(backend);
        const begin = () =>
          db.opened.transaction(() => {
            void db.add();
            return Promise.reject(ROLLBACK);
          });
        await db.unchangedBy(() => assert.rejects(begin, ROLLBACK));
        assert.deepEqual(await db.attempts(), []);
      });

      test("calls that run at once on one handle do not join each other's transactions", async () => {
        const db = await fresh(backend);
        const calls = Array.from({ length: 50 }, (_, n) =>
          n % 5 === 0 ? db.add({ workflowId: 4711 }) : n % 5 === 1 ? db.claim().then(db.queue.fail) : db.add({ payload: n }));
        const results = await Promise.allSettled(calls);
        for (const [n, { status }] of results.entries()) if (n % 5 !== 1) assert.equal(status, n % 5 === 0 ? "rejected" : "fulfilled");
        assert.equal((await db.attempts()).length, 30);
      });
    }
  });
}

async function claimed(db: Fixture) {
  await db.add();
  return await db.claim();
}
