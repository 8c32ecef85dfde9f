import assert from "node:assert/strict";
import type postgres from "postgres";
import type { Claim, Queue } from "../../mod.ts";
import { eventually } from "./eventually.ts";

/** An operation whose answer may be lost, on one attempt of the role "held" that is claimed and one of "free" that is not. */
export interface UncertainOperation {
  act(queue: Queue, claim: Claim): Promise<unknown>;
  /** What the tables say of it: statuses by role, and the number of attempts. */
  isDone(status: Record<string, unknown>, attempts: number): boolean;
}

export const OPERATIONS: Record<string, UncertainOperation> = {
  "enqueue()": { act: (queue) => queue.enqueue({ role: "new" }), isDone: (_status, attempts) => attempts === 3 },
  "enqueue() of a list with keys": { act: (queue) => queue.enqueue([{ role: "new", key: "a" }, { role: "new", key: "b" }]), isDone: (_status, attempts) => attempts === 4 },
  "dequeue()": { act: (queue) => queue.dequeue({ roles: ["free"] }), isDone: (status) => status["free"] === "in_progress" },
  "complete()": { act: (queue, claim) => queue.complete(claim), isDone: (status) => status["held"] === "succeeded" },
  "fail()": { act: (queue, claim) => queue.fail(claim), isDone: (status) => status["held"] === "failed" },
  "release()": { act: (queue, claim) => queue.release(claim), isDone: (status) => status["held"] === "pending" },
  "cancel()": { act: (queue, claim) => queue.cancel(claim.workflowId), isDone: (status) => status["held"] === "cancelled" },
};

/** Empties the tables and makes what the operations work on. */
export async function arrange(queue: Queue, eyes: postgres.Sql, schema: string): Promise<Claim> {
  await eyes.unsafe(`delete from "${schema}".workflow_attempts; delete from "${schema}".workflows`);
  await queue.enqueue({ role: "held" });
  const claim = await queue.dequeue({ roles: ["held"] });
  assert.ok(claim.acquired);
  await queue.enqueue({ role: "free" });
  return claim;
}

/** Whether an operation was done, wholly, when the server has ended what the lost connection was doing. */
export async function wasDone({ isDone }: UncertainOperation, eyes: postgres.Sql, schema: string): Promise<boolean> {
  await settled(eyes, schema);
  const rows = await eyes.unsafe(`select role, status from "${schema}".workflow_attempts`);
  return isDone(Object.fromEntries(rows.map(({ role, status }) => [role, status])), rows.length);
}

async function settled(eyes: postgres.Sql, schema: string): Promise<void> {
  await eventually(async () => {
    const busy = await eyes.unsafe(`select pid from pg_stat_activity where pid <> pg_backend_pid() and (state = 'active' or state like 'idle in%')
      and query like '%${schema}%'`);
    assert.equal(busy.length, 0);
  });
}
