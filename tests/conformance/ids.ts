import assert from "node:assert/strict";
import { describe } from "node:test";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, type Fixture, fresh, only, ROLE } from "./support.ts";

/** The first whole number that a JavaScript number cannot tell from its neighbour. */
const HUGE = 2n ** 53n + 1n;

export function idsAndTokens(backend: BackendUnderTest): void {
  describe(`${backend.name} · ids`, () => {
    test("ids and tokens beyond 2^53 go through a whole life unharmed", async () => {
      const db = await huge(backend);
      const made = await db.queue.enqueue([{ role: ROLE, payload: 1 }, { role: ROLE, payload: 2 }]);
      assert.deepEqual(made.map((each) => [each.workflowId, each.attemptId]), [[text(0), text(0)], [text(1), text(1)]]);
      await db.sql(`update workflow_attempts set fencing_token = ${HUGE}`);

      const claim = await db.claim();
      assert.deepEqual([claim.attemptId, claim.workflowId, claim.fencingToken], [text(0), text(0), text(1)]);
      const [second] = await db.queue.dequeueMany({ roles: [ROLE], limit: 5 });
      assert.deepEqual([second?.attemptId, second?.fencingToken], [text(1), text(1)]);
      const before = { ...claim, fencingToken: text(0) };
      assert.deepEqual(await db.queue.heartbeat([claim, before, { ...claim, attemptId: text(1) }, { ...claim, attemptId: text(2) }]), [
        { held: true },
        { held: false },
        { held: true },
        { held: false },
      ]);
      await assert.rejects(db.queue.complete(before), failure("lease_lost", text(0)));

      const joined = await db.queue.enqueue({ role: "joined", workflowId: text(0), key: "k" });
      assert.deepEqual(joined, { workflowId: text(0), attemptId: text(2), created: true });
      assert.deepEqual(await db.queue.enqueue({ role: ROLE, key: "k" }), { ...joined, created: false });
      await db.queue.complete(claim, { next: [{ role: "followed" }] });
      await db.silence(text(1));
      const reaped = only((await db.queue.reap({ maxPickups: 1 })).stuck);
      assert.deepEqual([reaped.attemptId, reaped.workflowId], [text(1), text(1)]);
      await db.queue.retry(text(1));
      await db.queue.fail(await db.claim(), { retry: {} });
      await db.queue.cancel(text(0));
      assert.deepEqual((await db.workflows()).map((row) => [row.workflow_id, row.status]), [[text(0), "CANCELLED"], [text(1), "ACTIVE"]]);
      const expected = ["succeeded", "failed", "cancelled", "cancelled", "pending"].map((status, place) => [text(place), status]);
      assert.deepEqual((await db.attempts()).map((row) => [row.attempt_id, row.status]), expected);
      assert.deepEqual(await db.queue.prune({ olderThanMs: 0 }), { workflows: 1, attempts: 3 });
    });

    test("an id is accepted as string, number and bigint", async () => {
      const db = await fresh(backend);
      for (const as of [String, Number, BigInt]) {
        const { workflowId, attemptId } = await db.add();
        await db.add({ workflowId: as(workflowId) });
        const { instanceId, fencingToken } = await db.claim();
        const lease = { attemptId: as(attemptId), instanceId, fencingToken: as(fencingToken) };
        assert.deepEqual(await db.queue.heartbeat(lease), { held: true });
        assert.deepEqual(await db.queue.heartbeat([lease]), [{ held: true }]);
        await db.queue.complete(lease);
        await db.queue.cancel(as(workflowId));
        const stuck = await db.stick();
        await db.queue.retry(as(stuck.workflowId));
        await db.queue.cancel(stuck.workflowId);
      }
    });

    test("an id beyond 2^53 is accepted as string and bigint, and as a number it is refused", async () => {
      const db = await huge(backend);
      await db.add();
      const claim = await db.claim();
      assert.deepEqual(await db.queue.heartbeat({ ...claim, attemptId: HUGE }), { held: true });
      await assert.rejects(db.queue.heartbeat({ ...claim, attemptId: Number(HUGE) }), failure("invalid_argument", String(Number(HUGE))));
    });

    test("a claim survives JSON", async () => {
      const db = await huge(backend);
      await db.add({ payload: { a: 1 }, tier: 1, key: "k" });
      const claim = await db.claim();
      const copy = JSON.parse(JSON.stringify(claim));
      assert.deepEqual(copy, claim);
      assert.deepEqual(structuredClone(claim), claim);
      assert.deepEqual(await db.queue.heartbeat(copy), { held: true });
      await db.queue.complete(copy);
    });

    test("the part of a claim that proves possession is enough", async () => {
      const db = await fresh(backend);
      await db.add();
      const { attemptId, instanceId, fencingToken } = await db.claim();
      await db.queue.complete({ attemptId, instanceId, fencingToken });
      assert.equal((await db.attempt(attemptId)).status, "succeeded");
    });

    test("a transaction that was rolled back leaves a gap that stops nobody", async () => {
      const db = await fresh(backend);
      await db.opened.transaction(async (transaction) => {
        await db.queue.using(transaction).enqueue({ role: ROLE });
        throw new Error("no");
      }).catch(() => {});
      const { attemptId } = await db.add();
      assert.equal((await db.claim()).attemptId, attemptId);
    });

    if (backend.dialect === "sqlite") {
      test("a rowid of the caller's beyond 2^53 is in nobody's way", async () => {
        const db = await fresh(backend);
        await db.sql("create table messages (id integer primary key)");
        await db.sql("insert into messages values (1234567890123456789)");
        await db.add();
        const claim = await db.claim();
        await db.sql("insert into messages values (1234567890123456790)");
        await db.queue.reap();
        await db.queue.complete(claim, { next: [{ role: ROLE }] });
        await db.sql("insert into messages values (1234567890123456791)");
        await db.queue.cancel(claim.workflowId);
        assert.equal((await db.sql("select 1 as one from messages")).length, 3);
      });
    }
  });
}

function text(place: number): string {
  return String(HUGE + BigInt(place));
}

/** Tables whose next ids are `HUGE`. */
async function huge(backend: BackendUnderTest): Promise<Fixture> {
  const db = await fresh(backend);
  if (db.dialect === "postgres") {
    for (const [table, id] of [["workflows", "workflow_id"], ["workflow_attempts", "attempt_id"]]) {
      await db.sql(`select setval(pg_get_serial_sequence('${table}', '${id}'), ${HUGE - 1n})`);
    }
  } else {
    await db.sql("delete from sqlite_sequence");
    await db.sql(`insert into sqlite_sequence (name, seq) values ('workflows', ${HUGE - 1n}), ('workflow_attempts', ${HUGE - 1n})`);
  }
  return db;
}
