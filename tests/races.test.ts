// Two or more at the same row at the same moment: one wins, the others are told, and nothing is counted twice.
import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Claim, Enqueued, Queue } from "../mod.ts";
import { race, rounds, valueOf } from "./model/arena.ts";
import { testClaims, testClaimsUnderSettings } from "./model/claims_at_once.ts";
import { mainBackends, type Opened } from "./support/backends.ts";
import { test } from "./support/testing.ts";

const STALE_MS = 60_000;
for (const backend of mainBackends.filter(({ name }) => name !== "better-sqlite3 12")) {
  describe(`${backend.name} · races`, () => {
    const endings = {
      complete: [(queue, claim) => queue.complete(claim), ["succeeded", 0, 1]],
      fail: [(queue, claim) => queue.fail(claim), ["failed", 0, 1]],
      release: [(queue, claim) => queue.release(claim), ["pending", 0, 2]],
      heartbeat: [(queue, claim) => held(queue, claim), ["in_progress", 0, 1]],
    } satisfies Record<string, [(queue: Queue, claim: Claim) => Promise<unknown>, unknown[]]>;
    for (const [name, [act, won]] of Object.entries(endings)) {
      test(`${name} and reap: one of them has the attempt`, () =>
        rounds(backend, async ({ queues: [holder, reaper], opened }, role) => {
          const [claim] = await claimed(holder!, role, 1);
          await opened.age(claim!.attemptId, STALE_MS * 2);
          const [ended, reaped] = await race(() => act(holder!, claim!), () => reaper!.reap({ staleAfterMs: STALE_MS }));
          const taken = reaped.value!.requeued.length === 1;
          assert.deepEqual([ended.code, taken], ended.code === undefined ? [undefined, false] : ["lease_lost", true]);
          const [attempt] = await attemptsOf(opened, claim!.workflowId);
          assert.deepEqual([attempt!.status, attempt!.pickup_count, Number(attempt!.fencing_token)], taken ? ["pending", 1, 2] : won);
        }));
    }

    for (const [maxPickups, kind] of [[3, "requeued"], [1, "stuck"]] as const) {
      test(`four reapers count each attempt once (${kind})`, () =>
        rounds(backend, async ({ queues, opened }, role) => {
          const { workflowId } = await queues[0]!.enqueue({ role });
          await queues[0]!.enqueue([...Array(5).fill({ role, workflowId }), ...Array(6).fill({ role })]);
          const claims = await queues[0]!.dequeueMany({ roles: [role], limit: 12 });
          for (const { attemptId } of claims) await opened.age(attemptId, STALE_MS * 2);
          const reap = (queue: Queue) => () => queue.reap({ staleAfterMs: STALE_MS, maxPickups });
          const results = await race(...queues.slice(0, 4).map(reap));
          const reaped = [...results.map(valueOf), await reap(queues[0]!)()].flatMap((result) => result[kind]);
          assert.deepEqual(reaped.map(({ attemptId }) => attemptId).sort(), claims.map(({ attemptId }) => attemptId).sort());
          const rows = await opened.sql(`select distinct status, pickup_count, fencing_token from workflow_attempts where role = '${role}'`);
          const status = kind === "stuck" ? "failed" : "pending";
          assert.deepEqual(rows.map((row) => ({ ...row, fencing_token: Number(row.fencing_token) })), [{ status, pickup_count: 1, fencing_token: 2 }]);
        }, { atMost: 100 }));
    }

    test("retry and reap: a workflow is STUCK exactly when an attempt of it is exhausted", () =>
      rounds(backend, async ({ queues: [operator, reaper], opened }, role) => {
        const claims = await claimed(operator!, role, 2);
        const reap = () => reaper!.reap({ staleAfterMs: STALE_MS, maxPickups: 1 });
        for (const { attemptId } of claims) {
          await opened.age(attemptId, STALE_MS * 2);
          if (attemptId === claims[0]!.attemptId) await reap();
        }
        const { workflowId } = claims[0]!;
        const [retried, reaped] = await race(() => operator!.retry(workflowId), reap);
        assert.deepEqual([retried.code, reaped.code], [undefined, undefined]);
        await reap();
        const attempts = await attemptsOf(opened, workflowId);
        const isExhausted = attempts.some(({ outcome }) => outcome === "attempt-pickup-exhausted");
        assert.equal(await statusOf(opened, workflowId), isExhausted ? "STUCK" : "ACTIVE");
        assert.equal(attempts[0]!.status, "pending");
      }));

    const additions = {
      complete: (queue, claim) => queue.complete(claim),
      "complete with a follow-up": (queue, claim) => queue.complete(claim, { next: [{ role: claim.role }] }),
      "fail with a retry": (queue, claim) => queue.fail(claim, { retry: {} }),
      "fail of the worker": (queue, claim) => queue.fail(claim, { outcome: "worker-internal-error" }),
      "enqueue onto the workflow": (queue, { role, workflowId }) => queue.enqueue({ role, workflowId }),
      "dequeue of a sibling": (queue, { role }) => queue.dequeue({ roles: [role] }),
    } satisfies Record<string, (queue: Queue, claim: Claim) => Promise<unknown>>;
    for (const [name, act] of Object.entries(additions)) {
      test(`cancel and ${name}: nothing is open in a CANCELLED workflow`, () =>
        rounds(backend, async ({ queues: [holder, operator], opened }, role) => {
          const [claim] = await claimed(holder!, role, 1);
          if (name === "dequeue of a sibling") await holder!.enqueue({ role, workflowId: claim!.workflowId });
          const [acted, cancelled] = await race<unknown, unknown>(() => act(holder!, claim!), () => operator!.cancel(claim!.workflowId));
          assert.ok([undefined, "lease_lost", "workflow_closed"].includes(acted.code), acted.code);
          assert.ok([undefined, "wrong_state"].includes(cancelled.code), cancelled.code);
          const status = await statusOf(opened, claim!.workflowId);
          assert.equal(status, cancelled.code === undefined ? "CANCELLED" : "SUCCEEDED");
          assert.equal((await attemptsOf(opened, claim!.workflowId)).some(isOpen), false);
        }));
    }

    test("the last completions of a workflow at once leave it SUCCEEDED", () =>
      rounds(backend, async ({ queues, opened }, role, round) => {
        const claims = await claimed(queues[0]!, role, 2 + round % 3);
        const results = await race(...claims.map((claim, place) => () => queues[place]!.complete(claim)));
        assert.deepEqual(results.map(({ code }) => code), claims.map(() => undefined));
        assert.equal(await statusOf(opened, claims[0]!.workflowId), "SUCCEEDED");
      }));

    test("the last ones, of which one fails for good, leave it FAILED", () =>
      rounds(backend, async ({ queues: [a, b], opened }, role) => {
        const [one, two] = await claimed(a!, role, 2);
        const results = await race(() => a!.complete(one!), () => b!.fail(two!));
        assert.deepEqual(results.map(({ code }) => code), [undefined, undefined]);
        assert.equal(await statusOf(opened, one!.workflowId), "FAILED");
      }));

    test("complete and enqueue onto the same workflow: never SUCCEEDED with something open", () =>
      rounds(backend, async ({ queues: [a, b], opened }, role) => {
        const [claim] = await claimed(a!, role, 1);
        const { workflowId } = claim!;
        const results = await race<unknown, unknown>(() => a!.complete(claim!), () => b!.enqueue({ role, workflowId }));
        assert.deepEqual(results.map(({ code }) => code), [undefined, undefined]);
        assert.equal(await statusOf(opened, workflowId), "ACTIVE");
      }));

    const lettingGo = {
      complete: (queue, claim) => queue.complete(claim),
      fail: (queue, claim) => queue.fail(claim),
      "fail with a retry": (queue, claim) => queue.fail(claim, { retry: {} }),
      release: (queue, claim) => queue.release(claim),
      cancel: (queue, { workflowId }) => queue.cancel(workflowId),
    } satisfies Record<string, (queue: Queue, claim: Claim) => Promise<unknown>>;
    for (const [name, act] of Object.entries(lettingGo)) {
      test(`${name} of a key's holder and enqueue under that key: it is open once at most`, () =>
        rounds(backend, async ({ queues: [holder, other], opened }, role) => {
          await holder!.enqueue({ role, key: role });
          const claim = await holder!.dequeue({ roles: [role] }) as Claim;
          const [acted, enqueued] = await race(() => act(holder!, claim), () => other!.enqueue({ role, key: role }));
          assert.deepEqual([acted.code, enqueued.code], [undefined, undefined]);
          const { created, workflowId, attemptId } = enqueued.value!;
          assert.equal(created, workflowId !== claim.workflowId);
          const open = (await opened.sql(`select * from workflow_attempts where key = '${role}'`)).filter(isOpen);
          if (created) assert.deepEqual(open.map(({ attempt_id }) => String(attempt_id)), [attemptId]);
          else assert.equal(open.length, name === "release" || name === "fail with a retry" ? 1 : 0);
        }));
    }

    test("retry and enqueue under the key of the exhausted attempt: one of them has the key", () =>
      rounds(backend, async ({ queues: [operator, other] }, role) => {
        const { workflowId } = await operator!.enqueue({ role, key: role });
        const claim = await operator!.dequeue({ roles: [role] }) as Claim;
        await operator!.fail(claim, { outcome: "worker-internal-error" });
        await operator!.reap({ maxPickups: 1 });
        const [retried, enqueued] = await race<unknown, Enqueued>(() => operator!.retry(workflowId), () => other!.enqueue({ role, key: role }));
        assert.equal(enqueued.code, undefined);
        assert.equal(enqueued.value!.created, retried.code === "wrong_state");
        assert.ok([undefined, "wrong_state"].includes(retried.code), retried.code);
        if (retried.code === undefined) assert.equal(enqueued.value!.attemptId, claim.attemptId);
      }));

    test("a key enqueued by many at once is open once, and all get its ids", () =>
      rounds(backend, async ({ queues, opened }, role) => {
        const results = await race(...queues.slice(0, 6).map((queue) => () => queue.enqueue({ role, key: role })));
        const ids = results.map(valueOf);
        assert.equal(new Set(ids.map(({ attemptId, workflowId }) => `${attemptId}/${workflowId}`)).size, 1);
        assert.equal(ids.filter(({ created }) => created).length, 1);
        assert.equal((await attemptsOf(opened, ids[0]!.workflowId)).length, 1);
        assert.equal((await opened.sql(`select * from workflow_attempts where role = '${role}'`)).length, 1);
      }));

    test("keys enqueued in lists of opposite order: once each, and no deadlock is shown", () =>
      rounds(backend, async ({ queues, opened }, role) => {
        const work = Array.from({ length: 50 }, (_, n) => ({ role, key: `${role}/${n}` }));
        const results = await race(...queues.slice(0, 4).map((queue, n) => () => queue.enqueue(n % 2 === 0 ? work : work.toReversed())));
        const ids = results.map(valueOf).map((list, n) => (n % 2 === 0 ? list : list.toReversed()).map(({ attemptId }) => attemptId));
        for (const list of ids) assert.deepEqual(list, ids[0]);
        assert.equal(results.flatMap(valueOf).filter(({ created }) => created).length, work.length);
        assert.equal((await opened.sql(`select * from workflow_attempts where role = '${role}'`)).length, work.length);
      }, { atMost: 50 }));

    test("heartbeats of the same leases in lists of opposite order: all are held, and no deadlock is shown", () =>
      rounds(backend, async ({ opened, queues }, role) => {
        const claims = await claimed(queues[0]!, role, 20);
        const beat = (queue: Queue, n: number) => queue.heartbeat(n % 2 === 0 ? claims : claims.toReversed());
        // In a transaction of the caller's nothing is tried again.
        const inside = (n: number) => opened.transaction((transaction) => beat(opened.queue().using(transaction), n));
        const results = await race(...queues.slice(0, 4).map((queue, n) => () => backend.dialect === "postgres" ? inside(n) : beat(queue, n)));
        assert.ok(results.flatMap(valueOf).every(({ held }) => held));
      }, { atMost: 100 }));

    test("prune and enqueue onto the workflow: the attempt has its workflow, or is refused", () =>
      rounds(backend, async ({ queues: [a, pruner], opened }, role) => {
        const [claim] = await claimed(a!, role, 1);
        const { workflowId } = claim!;
        await a!.complete(claim!);
        const [enqueued, pruned] = await race<unknown, unknown>(() => a!.enqueue({ role, workflowId }), () => pruner!.prune({ olderThanMs: 0 }));
        assert.equal(pruned.code, undefined);
        assert.ok([undefined, "not_found"].includes(enqueued.code), enqueued.code);
        const counts = [(await attemptsOf(opened, workflowId)).length, await statusOf(opened, workflowId)];
        assert.deepEqual(counts, enqueued.code === undefined ? [2, "ACTIVE"] : [0, undefined]);
      }));

    testClaims(backend);
    if (backend.dialect === "postgres") testClaimsUnderSettings(backend);
  });
}

/** Attempts of one new workflow, all claimed. */
async function claimed(queue: Queue, role: string, count: number): Promise<Claim[]> {
  const { workflowId } = await queue.enqueue({ role });
  if (count > 1) await queue.enqueue(Array.from({ length: count - 1 }, () => ({ role, workflowId })));
  return await queue.dequeueMany({ roles: [role], limit: count });
}

async function held(queue: Queue, claim: Claim): Promise<void> {
  if (!(await queue.heartbeat(claim)).held) throw Object.assign(new Error("not held"), { code: "lease_lost" });
}

async function attemptsOf(opened: Opened, workflowId: string): Promise<Record<string, unknown>[]> {
  return await opened.sql(`select * from workflow_attempts where workflow_id = ${workflowId} order by attempt_id`);
}

async function statusOf(opened: Opened, workflowId: string): Promise<unknown> {
  return (await opened.sql(`select status from workflows where workflow_id = ${workflowId}`))[0]?.status;
}

function isOpen({ status, outcome }: Record<string, unknown>): boolean {
  return ["pending", "scheduled", "in_progress"].includes(String(status)) || status === "failed" && outcome === "worker-internal-error";
}
