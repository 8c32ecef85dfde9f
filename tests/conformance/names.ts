import assert from "node:assert/strict";
import { describe } from "node:test";
import fc from "fast-check";
import type { Claim } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { acquired, fresh, ROLE, runs } from "./support.ts";

const HOSTILE = [
  ...["fe80::1%eth0/1/x", "fe80::1%eth0/1/X", "::", "a/b", "a/b/c", "a/b/c/d", "a b", "a b ", " a b"],
  ...["'", '"', "`", "\\", "\\'", "%", "_", "$1", ":name", "?", "--", "; drop table workflows; --"],
  ...["😀", "ü", "u\u0308", "\u0001", "\n", "\ufeff", "\uffff", "__proto__", "constructor", "null", "undefined"],
  ...["0", "00", "true", "[]", "{}", '{"a":1}', "NaN", "x".repeat(300), "x".repeat(299), "x".repeat(100_000)],
];

export function names(backend: BackendUnderTest): void {
  const isKept = (text: string) => !(backend.dropsByteOrderMark && text.startsWith("\ufeff"));
  const INSTANCES = HOSTILE.filter(isKept);

  describe(`${backend.name} · names`, () => {
    test("an instance of whatever name owns its own leases and no others", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue(INSTANCES.map(() => ({ role: ROLE })));
      const claims = [];
      for (const instanceId of INSTANCES) claims.push(await db.claim({ instanceId }));
      assert.deepEqual(claims.map((claim) => claim.instanceId), INSTANCES);
      assert.deepEqual((await db.attempts()).map((row) => row.locked_by_instance), INSTANCES);

      const pairs = claims.flatMap((claim) => INSTANCES.map((instanceId) => ({ ...claim, instanceId })));
      const beats = await db.queue.heartbeat(pairs);
      assert.deepEqual(beats.map((beat) => beat.held), claims.flatMap((claim) => INSTANCES.map((name) => name === claim.instanceId)));

      for (const [place, claim] of claims.entries()) {
        const other = { ...claim, instanceId: INSTANCES[(place + 1) % INSTANCES.length] as string };
        await assert.rejects(db.queue.release(other), { code: "lease_lost" });
        if (place % 2) await db.queue.complete(claim);
        else await db.silence(claim.attemptId);
      }
      const { requeued } = await db.queue.reap();
      assert.deepEqual(requeued.map((each) => each.previousInstanceId), INSTANCES.filter((_, place) => place % 2 === 0));
    });

    test("a role of 8 kB goes through a life like any other", async () => {
      const db = await fresh(backend);
      const role = "builder/".repeat(1_000);
      const [{ attemptId }, other] = [await db.add({ role }), await db.add({ role: `${role}2` })];
      const claim = await db.claim({ roles: [role] });
      assert.deepEqual([claim.attemptId, claim.role], [attemptId, role]);
      await db.silence(attemptId);
      assert.deepEqual((await db.queue.reap()).requeued.map((each) => each.role), [role]);
      const [again] = await db.queue.dequeueMany({ roles: [role], limit: 2 });
      await db.queue.complete(again!, { next: [{ role }] });
      assert.equal((await db.claim({ roles: [role, `${role}2`] })).attemptId, other.attemptId);
      assert.deepEqual((await db.queue.stats()).roles.map((each) => each.role), [role, `${role}2`]);
    });

    test("text is stored letter by letter, whatever it is and wherever it was given", async () => {
      const db = await fresh(backend);
      const any = fc.string({ unit: "binary", minLength: 1, maxLength: 30 }).filter((text) => !text.includes("\0") && isKept(text));
      const hostile = fc.constantFrom(...INSTANCES.filter((name) => name.length <= 300));
      await fc.assert(
        fc.asyncProperty(fc.oneof(any, hostile), async (text) => {
          await db.sql("delete from workflow_attempts");
          const { attemptId } = await db.add({ role: text, key: text, payload: { [text]: text } });
          assert.equal((await db.add({ key: text })).created, false);
          const claim = acquired(await db.queue.dequeue({ roles: ["another", text], instanceId: text }));
          assert.deepEqual(
            [claim.role, claim.key, claim.payload, claim.instanceId],
            [text, text, JSON.parse(JSON.stringify({ [text]: text })), text],
          );
          assert.deepEqual(await db.queue.heartbeat([claim]), [{ held: true }]);
          const next = [{ role: text, key: `${text}!`, payload: text }];
          await db.queue.complete(claim, { outcome: text, result: text, next });
          const row = await db.attempt(attemptId);
          assert.deepEqual([row.role, row.key, row.outcome, row.result, row.locked_by_instance], [text, text, text, text, text]);
          const [followed] = await db.queue.dequeueMany({ roles: [text], limit: 1, instanceId: text });
          assert.deepEqual([followed?.role, followed?.key, followed?.payload], [text, `${text}!`, text]);
          await db.queue.fail(followed as Claim, { outcome: text, error: text, retry: {} });
          const failed = await db.attempt(String(followed?.attemptId));
          assert.deepEqual([failed.outcome, failed.error], [text, text]);
          const { roles } = await db.queue.stats();
          assert.deepEqual(roles.map((role) => role.role), [text]);
        }),
        { numRuns: runs(60), examples: INSTANCES.filter((name) => name.length <= 300).map((name) => [name]) },
      );
    });
  });
}
