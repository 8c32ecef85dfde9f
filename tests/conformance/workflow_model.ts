import assert from "node:assert/strict";
import { describe } from "node:test";
import fc from "fast-check";
import type { Claim } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, type Fixture, fresh, ids, ROLE, runs } from "./support.ts";

const MAX_PICKUPS = 2;

type State = "pending" | "in_progress" | "succeeded" | "failed" | "broken" | "exhausted" | "cancelled";

interface Attempt {
  state: State;
  pickups: number;
  claim: Claim | undefined;
}

/** One workflow as section 3 and 4 of the contract describe it. */
interface Model {
  readonly id: string;
  status: string;
  readonly attempts: Map<string, Attempt>;
}

type Step = (db: Fixture, model: Model, pick: (state: State) => [string, Attempt] | undefined) => Promise<unknown>;

const STEPS: Record<string, Step> = {
  join: async (db, model) => {
    const joined = db.add({ workflowId: model.id });
    if (["STUCK", "CANCELLED"].includes(model.status)) return await assert.rejects(joined, failure("workflow_closed"));
    add(model, (await joined).attemptId);
    model.status = "ACTIVE";
  },
  claim: async (db, model) => {
    const [claim] = await db.queue.dequeueMany({ roles: [ROLE], limit: 1, maxPickups: MAX_PICKUPS });
    const attempt = model.attempts.get(claim?.attemptId ?? "");
    assert.equal(attempt?.state, [...model.attempts.values()].find((each) => each.state === "pending")?.state);
    if (attempt !== undefined) Object.assign(attempt, { state: "in_progress", claim });
  },
  complete: async (db, model, pick) => {
    await end(pick, "succeeded", (claim) => db.queue.complete(claim));
    if (model.status === "ACTIVE" && !isOpen(model)) model.status = "SUCCEEDED";
  },
  follow: (db, model, pick) =>
    end(pick, "succeeded", async (claim) => {
      await db.queue.complete(claim, { next: [{ role: ROLE }] });
      add(model, (await db.attempts()).at(-1)?.attempt_id);
      if (model.status !== "STUCK") model.status = "ACTIVE";
    }),
  fail: (db, model, pick) =>
    end(pick, "failed", async (claim) => {
      await db.queue.fail(claim);
      if (model.status !== "STUCK") model.status = "FAILED";
    }),
  again: (db, model, pick) =>
    end(pick, "failed", async (claim) => {
      await db.queue.fail(claim, { retry: {} });
      add(model, (await db.attempts()).at(-1)?.attempt_id);
    }),
  break: (db, _, pick) => end(pick, "broken", (claim) => db.queue.fail(claim, { outcome: "worker-internal-error" })),
  release: (db, _, pick) => end(pick, "pending", (claim) => db.queue.release(claim)),
  reap: async (db, model, pick) => {
    const [silent] = pick("in_progress") ?? [];
    if (silent !== undefined) await db.silence(silent);
    const taken = [...model.attempts].filter(([id, each]) => id === silent || each.state === "broken" && model.status === "ACTIVE");
    for (const [, each] of taken) each.state = ++each.pickups < MAX_PICKUPS ? "pending" : "exhausted";
    const { requeued, stuck } = await db.queue.reap({ maxPickups: MAX_PICKUPS });
    assert.deepEqual(ids(requeued), taken.filter(([, each]) => each.state === "pending").map(([id]) => id));
    assert.deepEqual(ids(stuck), taken.filter(([, each]) => each.state === "exhausted").map(([id]) => id));
    if (stuck.length > 0) model.status = "STUCK";
  },
  cancel: async (db, model) => {
    const allowed = ["ACTIVE", "STUCK"].includes(model.status) || model.status === "FAILED" && isOpen(model);
    if (!allowed) return await db.unchangedBy(() => assert.rejects(db.queue.cancel(model.id), failure("wrong_state")));
    await db.queue.cancel(model.id);
    for (const each of model.attempts.values()) if (isOpenState(each.state)) each.state = "cancelled";
    model.status = "CANCELLED";
  },
  retry: async (db, model) => {
    if (model.status !== "STUCK") return await db.unchangedBy(() => assert.rejects(db.queue.retry(model.id), failure("wrong_state")));
    await db.queue.retry(model.id);
    for (const each of model.attempts.values()) if (each.state === "exhausted") Object.assign(each, { state: "pending", pickups: 0 });
    model.status = "ACTIVE";
  },
};

export function workflowModel(backend: BackendUnderTest): void {
  describe(`${backend.name} · workflow model`, () => {
    test("whatever happens in whatever order, attempts and workflow are as the contract says, and old leases are lost", async () => {
      const db = await fresh(backend);
      // Claims are frequent, since most steps need one.
      const names = [...Object.keys(STEPS), "claim", "claim", "claim", "complete", "reap"];
      const step = fc.tuple(fc.constantFrom(...names), fc.nat(9));
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 25 }), async (steps) => {
          await db.sql("delete from workflow_attempts");
          const first = await db.add();
          const model: Model = { id: first.workflowId, status: "ACTIVE", attempts: new Map() };
          add(model, first.attemptId);
          for (const [name, place] of steps) {
            await STEPS[name]?.(db, model, (state) => {
              const found = [...model.attempts].filter(([, each]) => each.state === state);
              return found[place % found.length];
            });
            await compare(db, model);
          }
        }),
        { numRuns: runs(30) },
      );
    });
  });
}

async function compare(db: Fixture, model: Model): Promise<void> {
  const { status, stuck_reason } = await db.workflow(model.id);
  assert.equal(status, model.status);
  if (status !== "CANCELLED") assert.equal(stuck_reason, status === "STUCK" ? "attempt-pickup-exhausted" : null);
  const rows = await db.attempts();
  assert.deepEqual(
    rows.map((row) => [row.attempt_id, stateOf(row), row.pickup_count]),
    [...model.attempts].map(([id, each]) => [id, each.state, each.pickups]),
  );
  const claims = [...model.attempts.values()].flatMap((each) => each.claim ?? []);
  const held = claims.map((claim) => ({ held: model.attempts.get(claim.attemptId)?.state === "in_progress" }));
  assert.deepEqual(await db.queue.heartbeat(claims), held);
}

function stateOf({ status, outcome }: { status: string; outcome: string | null }): string {
  if (status !== "failed") return status;
  return outcome === "worker-internal-error" ? "broken" : outcome === "attempt-pickup-exhausted" ? "exhausted" : "failed";
}

function add(model: Model, attemptId: string | undefined): void {
  model.attempts.set(String(attemptId), { state: "pending", pickups: 0, claim: undefined });
}

async function end(pick: Parameters<Step>[2], state: State, act: (claim: Claim) => Promise<unknown>): Promise<void> {
  const [, attempt] = pick("in_progress") ?? [];
  if (attempt === undefined) return;
  attempt.state = state;
  await act(attempt.claim as Claim);
}

function isOpen(model: Model): boolean {
  return [...model.attempts.values()].some((each) => isOpenState(each.state));
}

function isOpenState(state: State): boolean {
  return ["pending", "in_progress", "broken"].includes(state);
}
