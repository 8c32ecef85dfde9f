import type * as sql from "./sql.gen.ts";
import type { Claim, Payloads, Role } from "./types.ts";

/** A row of `dequeue_many`, or one of `dequeue` that brought a claim. */
export function toClaim<P extends Payloads, R extends Role<P>>(row: sql.DequeueManyRow): Claim<P, R> {
  return {
    acquired: true,
    attemptId: row.attempt_id,
    workflowId: row.workflow_id,
    role: row.role,
    tier: row.tier,
    priority: row.priority,
    attemptNumber: row.attempt_number,
    pickupCount: row.pickup_count,
    key: row.key,
    payload: row.payload,
    instanceId: row.instance_id,
    fencingToken: row.fencing_token,
  } as Claim<P, R>;
}

/** The order of the queue, which SQLite's `returning` does not keep. */
export function byQueueOrder(a: sql.DequeueManyRow, b: sql.DequeueManyRow): number {
  return a.priority - b.priority || compare(a.created_at, b.created_at) || compare(BigInt(a.attempt_id), BigInt(b.attempt_id));
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : Number(a > b);
}
