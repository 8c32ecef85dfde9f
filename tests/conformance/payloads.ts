import assert from "node:assert/strict";
import { describe } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { type Fixture, fresh, range, ROLE, runs } from "./support.ts";

/** Values that some layer between here and the table may take for something else. */
const TRICKY: Record<string, unknown> = {
  "texts that look like JSON": ["", " ", "null", "true", "5", '"x"', "{}", "[1]", "{", "\\", '\\"', "\\u0041", "\\u0000", "undefined"],
  "texts that look like times": ["2026-01-01", "2026-01-01T00:00:00.000Z", "infinity", "now"],
  "texts of other alphabets": ["ü", "e\u0301", "😀", "\u{10ffff}", "\ufeff", "\uffff", "\u2028", "\u200b", "\x7f", "\x01", "\t\r\n"],
  "numbers": [0, 1, -1, 0.1, 1e-7, 5e-324, 1.7976931348623157e308, 1e21, 2 ** 53, -(2 ** 53) + 1, 123456789.123456789],
  "the rest": [true, false, [], {}, [null], [[]], { "": null }, { a: {} }],
  "names of members": { "__proto__": 1, "constructor": 2, "$.payload": 3, "a.b": 4, "a b": 5, '"': 6, "'": 7, "ключ": 8, "role": 9, "1": 10 },
};

export function payloads(backend: BackendUnderTest): void {
  describe(`${backend.name} · payloads`, () => {
    for (const [name, value] of Object.entries(TRICKY)) {
      test(`come back as they were enqueued: ${name}`, async () => {
        const db = await fresh(backend);
        for (const each of [value, ...Object.values(value as object)]) await roundTrip(db, each);
      });
    }

    test("come back as they were enqueued: any JSON", async () => {
      const db = await fresh(backend);
      const json = fc.jsonValue({ stringUnit: "binary", maxDepth: 5 }).filter((value) => !JSON.stringify(value).includes("\\u0000"));
      await fc.assert(fc.asyncProperty(json, (value) => roundTrip(db, value)), { numRuns: runs(150) });
    });

    test("come back in order when many are enqueued and claimed at once", async () => {
      const db = await fresh(backend);
      const values = fc.sample(fc.jsonValue(), 200);
      await db.queue.enqueue(values.map((payload) => ({ role: ROLE, payload })));
      const claims = await db.queue.dequeueMany({ roles: [ROLE], limit: 200 });
      assert.deepEqual(claims.map((claim) => claim.payload), values.map(plain));
    });

    test("undefined and null are SQL NULL and come back as null", async () => {
      const db = await fresh(backend);
      for (const nothing of [undefined, null]) {
        const { attemptId } = await db.add({ payload: nothing });
        const claim = await db.claim();
        assert.equal(claim.payload, null);
        await db.queue.complete(claim, { result: nothing, next: [{ role: "next", payload: nothing }] });
        const stored = await db.sql("select 1 from workflow_attempts where payload is not null or result is not null");
        assert.deepEqual([stored, (await db.attempt(attemptId)).status], [[], "succeeded"]);
      }
    });

    test("are what JSON.stringify makes of them", async () => {
      const db = await fresh(backend);
      class Point {
        x = 1;
        #hidden = 2;
        get sum() {
          return this.x + this.#hidden;
        }
      }
      const values = [
        new Date(0),
        { a: undefined, b: 1 },
        [undefined, 1],
        new Point(),
        new Map([[1, 2]]),
        { toJSON: () => "short" },
        Object.assign(Object.create(null), { a: 1 }),
        -0,
        new Uint8Array([1, 2]),
        { [Symbol("unseen")]: 1, seen: 1 },
      ];
      for (const value of values) await roundTrip(db, value);
    });

    test("of 5 MB come back whole", async () => {
      const db = await fresh(backend);
      for (const value of ["ä\"\\".repeat(1_300_000), range(runs(100_000)).map((n) => ({ n, text: "x".repeat(30) }))]) {
        const { attemptId } = await db.add({ payload: value });
        const claim = await db.claim();
        assert.deepEqual(claim.payload, value);
        await db.queue.complete(claim, { result: value });
        assert.deepEqual((await db.attempt(attemptId)).result, value);
      }
    });

    test("of depth 500 come back whole", async () => {
      const db = await fresh(backend);
      for (const wrap of [(inner: unknown) => [inner], (inner: unknown) => ({ inner })]) {
        let value: unknown = "core";
        for (const _ of range(499)) value = wrap(value);
        await roundTrip(db, value);
      }
    });

    test("may be as deep here as anywhere: what one backend refuses all refuse", async () => {
      const db = await fresh(backend);
      for (const depth of [850, 900, 901, 1_000, 5_000]) {
        const value = JSON.parse("[".repeat(depth) + "]".repeat(depth));
        if (depth <= 900) await roundTrip(db, value);
        else await assert.rejects(db.add({ payload: value }), { code: "invalid_argument" });
      }
    });

    test("that are refused are not shown in the message", async () => {
      const queue = (await backend.open()).queue();
      const lease = { attemptId: "1", instanceId: "me", fencingToken: "1" };
      const SECRET = "hunter2";
      for (const value of [`${SECRET}\0`, { [`a\0`]: SECRET }, [SECRET, "\ud800"], [[BigInt(7357)], SECRET], { a: [SECRET], b: NaN }]) {
        for (const refused of [queue.enqueue({ role: ROLE, payload: value }), queue.complete(lease, { result: value }), queue.fail(lease, { result: value })]) {
          const error = await refused.then(() => assert.fail(), (thrown) => thrown);
          assert.equal(error.code, "invalid_argument");
          assert.doesNotMatch(inspect(error), /hunter2|7357/);
        }
      }
    });

    test("can be asked for in SQL", async () => {
      const db = await fresh(backend);
      await db.add({ payload: { repo: "acme/web" } });
      const [row] = await db.sql("select payload ->> 'repo' as repo from workflow_attempts");
      assert.equal(row?.["repo"], "acme/web");
    });
  });
}

/** As payload of an enqueue, of a follow-up and of a retry, and as result of a completion and a failure. */
async function roundTrip(db: Fixture, value: unknown): Promise<void> {
  const expected = plain(value);
  const { attemptId } = await db.add({ payload: value });
  const claim = await db.claim();
  assert.deepEqual(claim.payload, expected);
  await db.queue.complete(claim, { result: value, next: [{ role: ROLE, payload: value }] });
  assert.deepEqual((await db.attempt(attemptId)).result, expected);
  const next = await db.claim();
  assert.deepEqual(next.payload, expected);
  await db.queue.fail(next, { result: value, retry: {} });
  assert.deepEqual((await db.attempt(next.attemptId)).result, expected);
  const retry = await db.claim();
  assert.deepEqual(retry.payload, expected);
  await db.queue.complete(retry);
  await db.sql("delete from workflow_attempts");
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
