import assert from "node:assert/strict";
import { describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import type { Claim, Lease } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { fresh, range, ROLE, runs } from "./support.ts";

export function heartbeating(backend: BackendUnderTest): void {
  describe(`${backend.name} · heartbeat`, () => {
    test("heartbeat() moves lock_heartbeat_at to the present and nothing else", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue([{ role: ROLE }, { role: ROLE }]);
      const claim = await db.claim();
      const other = await db.claim();
      const row = await db.attempt(claim.attemptId);
      const rest = [await db.workflows(), await db.attempt(other.attemptId)];
      await sleep(5);
      const before = await db.now();
      assert.deepEqual(await db.queue.heartbeat(claim), { held: true });
      const after = await db.now();
      const beaten = await db.attempt(claim.attemptId);
      assert.deepEqual({ ...beaten, lock_heartbeat_at: row.lock_heartbeat_at }, row);
      const at = Number(beaten.lock_heartbeat_at);
      assert.ok(before <= at && at <= after && at > Number(row.lock_heartbeat_at));
      assert.deepEqual([await db.workflows(), await db.attempt(other.attemptId)], rest);
    });

    test("heartbeat() keeps an attempt from being reaped", async () => {
      const db = await fresh(backend);
      await db.add();
      const claim = await db.claim();
      await db.silence(claim.attemptId);
      assert.deepEqual(await db.queue.heartbeat(claim), { held: true });
      assert.deepEqual(await db.queue.reap(), { requeued: [], stuck: [] });
    });

    test("heartbeat() of an empty list gives an empty list", async () => {
      const db = await fresh(backend);
      assert.deepEqual(await db.unchangedBy(() => db.queue.heartbeat([])), []);
    });

    test("heartbeat() of a list answers for each lease in order: held, lost, twice, unknown", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue(range(6).map(() => ({ role: ROLE })));
      const claims = await db.queue.dequeueMany({ roles: [ROLE], limit: 6, instanceId: "me" });
      const [a, , released, completed, , again] = claims as [Claim, Claim, Claim, Claim, Claim, Claim];
      await db.queue.release(released);
      await db.queue.complete(completed);
      await db.queue.release(again);
      await db.claim();
      await db.claim();
      const leases: [Lease, boolean][] = [
        ...claims.map((claim): [Lease, boolean] => [claim, ![released, completed, again].includes(claim as Claim)]),
        [{ ...a, instanceId: "another" }, false],
        [{ ...a, fencingToken: "2" }, false],
        [{ ...a, attemptId: "9223372036854775807" }, false],
        [{ ...a, fencingToken: 1n, attemptId: Number(a.attemptId) }, true],
      ];
      const order = fc.array(fc.constantFrom(...leases), { maxLength: 30 });
      await fc.assert(
        fc.asyncProperty(order, async (list) => {
          const beats = await db.queue.heartbeat(list.map(([lease]) => lease));
          assert.deepEqual(beats, list.map(([, held]) => ({ held })));
        }),
        { numRuns: runs(30) },
      );
    });

    test("heartbeat() of a list touches only what is held", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue(range(3).map(() => ({ role: ROLE })));
      const [held, lost, left] = await db.queue.dequeueMany({ roles: [ROLE], limit: 3 }) as [Claim, Claim, Claim];
      for (const row of await db.attempts()) await db.silence(row.attempt_id);
      const silent = await db.attempts();
      assert.deepEqual(await db.queue.heartbeat([held, { ...lost, fencingToken: "7" }]), [{ held: true }, { held: false }]);
      const rows = await db.attempts();
      assert.ok(Number(rows[0]?.lock_heartbeat_at) > Number(silent[0]?.lock_heartbeat_at));
      assert.deepEqual(rows.slice(1), silent.slice(1));
      assert.deepEqual(await db.queue.heartbeat(left), { held: true });
    });

    test("heartbeat() of 5,000 leases is answered", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue(range(5_000).map(() => ({ role: ROLE })));
      const claims = await db.queue.dequeueMany({ roles: [ROLE], limit: 5_000 });
      const beats = await db.queue.heartbeat(claims);
      assert.ok(beats.length === 5_000 && beats.every((each) => each.held));
    });
  });
}
