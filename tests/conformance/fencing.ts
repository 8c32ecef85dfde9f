import assert from "node:assert/strict";
import { describe } from "node:test";
import fc from "fast-check";
import type { Claim, Lease, Queue } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, type Fixture, fresh, HOUR, ids, ROLE, runs } from "./support.ts";

type Act = (queue: Queue, lease: Lease) => Promise<unknown>;

const ENDS: Record<string, Act> = {
  "complete()": (queue, lease) => queue.complete(lease, { outcome: "late", result: 1, next: [{ role: ROLE }] }),
  "fail()": (queue, lease) => queue.fail(lease, { outcome: "late", error: "late" }),
  "fail() with a retry": (queue, lease) => queue.fail(lease, { retry: {} }),
  "fail() with worker-internal-error": (queue, lease) => queue.fail(lease, { outcome: "worker-internal-error" }),
  "release()": (queue, lease) => queue.release(lease),
};

/** What can have happened to a lease before its holder acts: each gives the lease that is lost by then. */
const LOST: Record<string, (db: Fixture) => Promise<Lease>> = {
  "was completed": (db) => after(db, (claim) => db.queue.complete(claim)),
  "was failed": (db) => after(db, (claim) => db.queue.fail(claim)),
  "was failed with a retry": (db) => after(db, (claim) => db.queue.fail(claim, { retry: {} })),
  "was failed with worker-internal-error": (db) => after(db, (claim) => db.queue.fail(claim, { outcome: "worker-internal-error" })),
  "was released": (db) => after(db, (claim) => db.queue.release(claim)),
  "was released and claimed again by the same instance": (db) => after(db, (claim) => db.queue.release(claim), () => claimAs(db, "me")),
  "was reaped": (db) => after(db, (claim) => reap(db, claim)),
  "was reaped and claimed by another instance": (db) => after(db, (claim) => reap(db, claim), () => claimAs(db, "another")),
  "was reaped and claimed again by the same instance": (db) => after(db, (claim) => reap(db, claim), () => claimAs(db, "me")),
  "was reaped at the limit": (db) => after(db, (claim) => reap(db, claim, 1)),
  "was reaped at the limit and retried": (db) => after(db, (claim) => reap(db, claim, 1), (claim) => db.queue.retry(claim.workflowId)),
  "was reaped, retried and claimed again by the same instance": (db) =>
    after(db, (claim) => reap(db, claim, 1), (claim) => db.queue.retry(claim.workflowId), () => claimAs(db, "me")),
  "broke, was reaped and claimed again by the same instance": (db) =>
    after(db, (claim) => db.queue.fail(claim, { outcome: "worker-internal-error" }), () => db.queue.reap(), () => claimAs(db, "me")),
  "was cancelled": (db) => after(db, (claim) => db.queue.cancel(claim.workflowId)),
  "was pruned": (db) => after(db, (claim) => db.queue.complete(claim), () => db.queue.prune({ olderThanMs: 0 })),
  "names another instance": async (db) => ({ ...await after(db), instanceId: "another" }),
  "names its instance in capitals": async (db) => ({ ...await after(db), instanceId: "ME" }),
  "names a later token": async (db) => ({ ...await after(db), fencingToken: "2" }),
  "names an earlier token": async (db) => ({ ...await after(db), fencingToken: "0" }),
  "names an attempt that never was": async (db) => ({ ...await after(db), attemptId: "4711" }),
  "names an attempt that was never claimed": async (db) => {
    const { attemptId } = await db.add();
    return { attemptId, instanceId: "me", fencingToken: "0" };
  },
};

export function fencing(backend: BackendUnderTest): void {
  describe(`${backend.name} · fencing`, () => {
    for (const [state, arrange] of Object.entries(LOST)) {
      test(`heartbeat(), complete(), fail() and release() refuse a lease that ${state}`, async () => {
        const db = await fresh(backend);
        const lease = await arrange(db);
        const before = await db.dump();
        for (const [name, act] of Object.entries(ENDS)) {
          await assert.rejects(act(db.queue, lease), failure("lease_lost", String(lease.attemptId)), name);
          assert.deepEqual(await db.dump(), before, name);
        }
        await db.unchangedBy(async () => assert.deepEqual(await db.queue.heartbeat(lease), { held: false }));
        await db.unchangedBy(async () => assert.deepEqual(await db.queue.heartbeat([lease]), [{ held: false }]));
      });
    }

    for (const [name, act] of Object.entries(ENDS)) {
      test(`${name} takes a lease that is held, once`, async () => {
        const db = await fresh(backend);
        await db.add();
        const lease = await claimAs(db, "me");
        await act(db.queue, lease);
        await db.unchangedBy(() => assert.rejects(act(db.queue, lease), failure("lease_lost")));
      });
    }

    test("a stale lease is held until it is reaped", async () => {
      const db = await fresh(backend);
      await db.add();
      const lease = await claimAs(db, "me");
      await db.silence(lease.attemptId);
      await db.queue.complete(lease);
      assert.deepEqual(await db.queue.reap(), { requeued: [], stuck: [] });
      assert.equal((await db.attempt(lease.attemptId)).status, "succeeded");
    });

    test("the lease error says which attempt, instance and token, and has a name and a code", async () => {
      const db = await fresh(backend);
      const error = await db.queue.release({ attemptId: 12n, instanceId: "host/1/a", fencingToken: 34 }).catch((thrown) => thrown);
      for (const part of ["12", "host/1/a", "34"]) assert.ok(error.message.includes(part), error.message);
      assert.deepEqual([error.name, error.code, error instanceof Error], ["LeaseLostError", "lease_lost", true]);
    });

    test("of all the leases an attempt ever had only the last is held, and its token is the highest", async () => {
      const db = await fresh(backend);
      const steps = fc.array(fc.constantFrom("release", "reap", "break", "stick", "foreign"), { minLength: 1, maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(steps, async (list) => {
          await db.sql("delete from workflow_attempts");
          await db.add();
          const claims = [await claimAs(db, "me")];
          for (const step of list) {
            const claim = claims.at(-1) as Claim;
            if (step === "release") await db.queue.release(claim);
            if (step === "reap") await reap(db, claim, 99);
            if (step === "stick") await reap(db, claim, 1).then(() => db.queue.retry(claim.workflowId));
            if (step === "break") await db.queue.fail(claim, { outcome: "worker-internal-error" }).then(() => db.queue.reap({ maxPickups: 99 }));
            // The older program takes it and goes silent.
            if (step === "foreign") {
              await db.queue.release(claim);
              await db.sql(`update workflow_attempts set status = 'in_progress', locked_by_instance = 'me', lock_heartbeat_at = ${db.instant(0)}`);
              assert.deepEqual(ids((await db.queue.reap({ maxPickups: 99 })).requeued), [claim.attemptId]);
            }
            claims.push(await claimAs(db, "me"));
          }
          const tokens = claims.map((claim) => Number(claim.fencingToken));
          assert.ok(tokens.every((token, place) => place === 0 || token > Number(tokens[place - 1])), String(tokens));
          const held = await db.queue.heartbeat(claims);
          assert.deepEqual(held.map((each) => each.held), claims.map((_, place) => place === claims.length - 1));
        }),
        { numRuns: runs(25) },
      );
    });

    test("complete() and reap() at once: one of them wins, and the loser is told", async () => {
      const db = await fresh(backend);
      for (let round = 0; round < 30; round++) {
        const { attemptId } = await db.add();
        const claim = await claimAs(db, "me");
        await db.silence(attemptId);
        const [ended, reaped] = await Promise.allSettled([db.queue.complete(claim), db.queue.reap({ staleAfterMs: HOUR / 2 })]);
        assert.ok(reaped.status === "fulfilled");
        const { status, pickup_count, locked_by_instance } = await db.attempt(attemptId);
        const expected = ended.status === "fulfilled"
          ? ["succeeded", 0, "me", 0]
          : ["pending", 1, null, 1];
        assert.deepEqual([status, pickup_count, locked_by_instance, reaped.value.requeued.length], expected);
        if (ended.status === "fulfilled") continue;
        failure("lease_lost")(ended.reason);
        await db.queue.complete(await claimAs(db, "me"));
      }
    });
  });
}

function claimAs(db: Fixture, instanceId: string): Promise<Claim> {
  return db.claim({ instanceId, maxPickups: 99 });
}

/** Enqueues, claims as "me", lets things happen, and gives the claim. */
async function after(db: Fixture, ...events: readonly ((claim: Claim) => Promise<unknown>)[]): Promise<Claim> {
  await db.add();
  const claim = await claimAs(db, "me");
  for (const event of events) await event(claim);
  return claim;
}

async function reap(db: Fixture, claim: Claim, maxPickups: number = 99): Promise<void> {
  await db.silence(claim.attemptId);
  const { requeued, stuck } = await db.queue.reap({ maxPickups });
  assert.deepEqual(ids([...requeued, ...stuck]), [claim.attemptId]);
}
