import assert from "node:assert/strict";
import type { Claim, Queue, Reaped } from "../../mod.ts";
import type { Opened } from "../support/backends.ts";

export const STALE_MS = 60_000;

export type Row = Record<string, unknown>;

/** What a race is about. */
export interface Stage {
  opened: Opened;
  queue: Queue;
}

/** An attempt that a race is about; a claim where somebody holds it, or did. */
export type Subject = Pick<Claim, "attemptId" | "workflowId">;

/** Makes what a race begins with. */
export type Arrange<S extends Subject = Subject> = (stage: Stage, role: string) => Promise<S[]>;

/** So many attempts of one new workflow, claimed. */
export function claimed(count: number): Arrange<Claim> {
  return async ({ queue }, role) => {
    const { workflowId } = await queue.enqueue({ role });
    if (count > 1) await queue.enqueue(Array.from({ length: count - 1 }, () => ({ role, workflowId })));
    return await queue.dequeueMany({ roles: [role], limit: count });
  };
}

/** The same, of a holder that fell silent. */
export function stale(count: number): Arrange<Claim> {
  return async (stage, role) => {
    const claims = await claimed(count)(stage, role);
    for (const { attemptId } of claims) await stage.opened.age(attemptId, STALE_MS * 2);
    return claims;
  };
}

/** An attempt that nobody has claimed. */
export async function pending({ queue }: Stage, role: string): Promise<Subject[]> {
  return [await queue.enqueue({ role })];
}

/** Claimed, in a workflow that is FAILED because of another attempt. */
export async function siblingOfFailed(stage: Stage, role: string): Promise<Claim[]> {
  const [held, failed] = await claimed(2)(stage, role);
  await stage.queue.fail(failed!);
  return [held!];
}

/** Left to the reaper by a worker that broke. */
export async function broken(stage: Stage, role: string): Promise<Claim[]> {
  const claims = await claimed(1)(stage, role);
  await stage.queue.fail(claims[0]!, { outcome: "worker-internal-error" });
  return claims;
}

/** An attempt that is done, as it was claimed. */
export async function completed(stage: Stage, role: string): Promise<Claim[]> {
  const claims = await claimed(1)(stage, role);
  await stage.queue.complete(claims[0]!);
  return claims;
}

/** An attempt that is exhausted. */
export async function stuck(stage: Stage, role: string): Promise<Claim[]> {
  const claims = await stale(1)(stage, role);
  await stage.queue.reap({ staleAfterMs: STALE_MS, maxPickups: 1 });
  return claims;
}

/** Ids of what a reap took. */
export function reapedBy(result: unknown): string[] {
  assert.equal(typeof result, "object", String(result));
  const { requeued, stuck: exhausted } = result as { requeued: Reaped[]; stuck: Reaped[] };
  return [...requeued, ...exhausted].map(({ attemptId }) => attemptId);
}

/** Status, pickup count and token. */
export function summary({ status, pickup_count, fencing_token }: Row): unknown[] {
  return [status, pickup_count, Number(fencing_token)];
}
