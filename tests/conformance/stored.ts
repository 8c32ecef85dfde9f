import assert from "node:assert/strict";
import { describe } from "node:test";
import type { NewWork } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, type Fixture, fresh, ROLE } from "./support.ts";

const INTEGERS = ["attempt_id", "workflow_id", "tier", "priority", "attempt_number", "pickup_count", "fencing_token"];
const TEXTS = [
  ...["role", "status", "outcome", "payload", "result", "error", "key", "locked_by_instance", "locked_at", "lock_heartbeat_at"],
  ...["started_at", "finished_at", "run_at", "created_at"],
];

/** What may be left out, with every way to do so. */
const LEFT_OUT: Record<string, unknown[]> = {
  tier: [undefined, null],
  payload: [undefined, null],
  key: [undefined, null],
  workflowId: [undefined, null],
  priority: [undefined],
  delayMs: [undefined],
  runAt: [undefined],
};

export function stored(backend: BackendUnderTest): void {
  describe(`${backend.name} · what is stored and what comes back`, () => {
    test("left out, undefined and null make the same rows", async () => {
      const db = await fresh(backend);
      const row = async (work: object) => {
        const { attemptId } = await db.queue.enqueue({ role: ROLE, ...work } as NewWork);
        const { attempt_id: _id, workflow_id: _workflow, created_at: _created, ...rest } = await db.attempt(attemptId);
        return rest;
      };
      const plain = await row({});
      for (const [argument, values] of Object.entries(LEFT_OUT)) {
        for (const value of values) assert.deepEqual(await row({ [argument]: value }), plain, `${argument}: ${value}`);
      }
      await assert.rejects(row({ tier: true }), failure("invalid_argument"));
      await db.sql("delete from workflow_attempts");

      const ended = async (end: () => Promise<unknown>) => {
        await end();
        const { attempt_id: _id, workflow_id: _workflow, created_at: _c, locked_at: _l, lock_heartbeat_at: _h, started_at: _s, finished_at: _f, ...rest } =
          (await db.attempts()).at(-1)!;
        return rest;
      };
      const completed = await ended(() => claimed(db).then((claim) => db.queue.complete(claim)));
      for (const options of [undefined, {}, { outcome: undefined, result: undefined, next: undefined }, { outcome: null, result: null, next: [] }]) {
        assert.deepEqual(await ended(() => claimed(db).then((claim) => db.queue.complete(claim, options as object))), completed);
      }
      const failed = await ended(() => claimed(db).then((claim) => db.queue.fail(claim)));
      for (const options of [undefined, {}, { outcome: undefined, error: undefined, result: undefined, retry: undefined }, { outcome: null, error: null, result: null }]) {
        assert.deepEqual(await ended(() => claimed(db).then((claim) => db.queue.fail(claim, options as object))), failed);
      }
      assert.deepEqual(await db.queue.reap({ staleAfterMs: undefined, maxPickups: undefined, limit: undefined } as object), { requeued: [], stuck: [] });
    });

    test("an answer is a plain value: equal to its copy, the same for nothing every time", async () => {
      const db = await fresh(backend);
      for (const result of [await db.queue.dequeue({ roles: [ROLE] }), await db.queue.stats(), await db.queue.reap()]) {
        assert.deepStrictEqual(structuredClone(result), result);
      }
      assert.deepStrictEqual(await db.queue.dequeue({ roles: [ROLE] }), { acquired: false, reason: "no_pending_eligible" });
      assert.deepStrictEqual(await db.queue.dequeueMany({ roles: [ROLE], limit: 1 }), []);
      const work = { role: ROLE, tier: 7, payload: { a: [1, { b: null }] } };
      for (const answer of [await db.queue.enqueue(work), await db.claim(), await db.queue.stats()]) {
        assert.deepStrictEqual(structuredClone(answer), answer);
        assert.equal(Object.getPrototypeOf(answer), Object.prototype);
      }
    });

    test("a payload of another program means the same in both dialects", async () => {
      const db = await fresh(backend);
      const payloads: Record<string, unknown> = {
        '{"b":1,"a":2}': { a: 2, b: 1 },
        '{"a":1,"a":2}': { a: 2 },
        "9007199254740993": 9007199254740992,
        "[1.10, -0, 1e3, 1E-3]": [1.1, JSON.parse(backend.dialect === "postgres" ? "0" : "-0"), 1000, 0.001],
        ' { "x" : [ ] } ': { x: [] },
        '"\\u00e4\\/"': "ä/",
        '{"__proto__": {"admin": true}}': JSON.parse('{"__proto__": {"admin": true}}'),
      };
      for (const [text, value] of Object.entries(payloads)) {
        await db.sql(`insert into workflow_attempts (workflow_id, role, payload) values (1, '${ROLE}', '${text}')`);
        const { payload } = await db.claim();
        assert.deepEqual(payload, value, text);
        assert.equal((payload as { admin?: unknown }).admin, undefined);
      }
    });

    test("columns of a later version do not disturb", async () => {
      const db = await fresh(backend);
      await db.sql("alter table workflow_attempts add column later text default 'x'");
      await db.sql("alter table workflows add column later text");
      const claim = await claimed(db);
      await db.queue.heartbeat(claim);
      await db.queue.complete(claim, { next: [{ role: ROLE }] });
      await db.queue.fail(await db.claim(), { retry: {} });
      const { workflowId } = await db.stick();
      await db.queue.retry(workflowId);
      await db.queue.cancel(workflowId);
      await db.queue.prune({ olderThanMs: 0 });
      await db.sql("alter table workflow_attempts drop column later");
      await db.sql("alter table workflows drop column later");
    });

    if (backend.dialect === "sqlite") {
      test("each column has one storage class, whatever the driver makes of numbers", async () => {
        const db = await fresh(backend);
        await db.add({ tier: 3, priority: -1, key: "k", payload: { n: 1.5 }, delayMs: 0 });
        await db.queue.reap();
        const claim = await db.claim();
        await db.queue.heartbeat(claim);
        await db.queue.fail(claim, { outcome: "worker-internal-error", error: "e", result: 5 });
        await db.queue.complete(await claimed(db), { outcome: "o", result: 1e15 });
        for (const [type, columns] of [["integer", INTEGERS], ["text", TEXTS]] as const) {
          const classes = columns.map((column) => `select distinct '${column}' as name, typeof(${column}) as type from workflow_attempts where ${column} is not null`);
          assert.deepEqual((await db.sql(classes.join(" union all "))).map((row) => [row["name"], row["type"]]), columns.map((column) => [column, type]));
        }
      });

      test("nothing is left half read: the next transaction begins at once", async () => {
        const db = await fresh(backend);
        const claim = await claimed(db);
        await db.queue.heartbeat(claim);
        await db.queue.stats();
        await db.queue.dequeue({ roles: [ROLE] });
        if (!backend.inTransaction) for (const statement of ["begin immediate", "commit"]) await db.sql(statement);
      });
    }
  });
}

async function claimed(db: Fixture) {
  await db.add();
  return await db.claim();
}
