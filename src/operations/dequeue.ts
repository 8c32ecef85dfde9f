import * as check from "../arguments.ts";
import type { Backend } from "../backends/backend.ts";
import type { DequeueOptions } from "../options.ts";
import type { Settings } from "../settings.ts";
import * as sql from "../sql.gen.ts";
import type { Claim, DequeueResult, RefusalReason, Role } from "../types.ts";

const ACTION = "dequeue";

/** Claims one attempt; see `dequeue.sql`. */
export async function dequeue<P extends object, R extends Role<P>>(
  backend: Backend,
  settings: Settings,
  options: DequeueOptions<R>,
): Promise<DequeueResult<P, R>> {
  const params = claimParams(settings, options, ["roles", "instanceId", "maxPickups"]);
  if (params.roles === "[]") return { acquired: false, reason: "no_roles_configured" };
  const [row] = await backend.run(sql.dequeue, params);
  const { reason } = row as sql.DequeueRow;
  return reason === null ? toClaim(row as sql.DequeueManyRow) : { acquired: false, reason: reason as RefusalReason };
}

/** Claims up to `limit` attempts; see `dequeue_many.sql`. */
export async function dequeueMany<P extends object, R extends Role<P>>(
  backend: Backend,
  settings: Settings,
  options: DequeueOptions<R> & { limit: number },
): Promise<Claim<P, R>[]> {
  const params = claimParams(settings, options, ["roles", "limit", "instanceId", "maxPickups"]);
  const max_claims = check.wholeNumber(ACTION, "limit", options.limit, 1);
  if (params.roles === "[]") return [];
  const rows = await backend.run(sql.dequeueMany, { ...params, max_claims });
  if (backend.dialect === "sqlite") rows.sort(byQueueOrder);
  return rows.map((row) => toClaim<P, R>(row));
}

function claimParams(settings: Settings, options: DequeueOptions, known: readonly (keyof DequeueOptions | "limit")[]) {
  const { roles, instanceId, maxPickups } = check.options<DequeueOptions & { limit?: number }>(ACTION, options, known);
  return {
    roles: JSON.stringify(check.roles(ACTION, roles)),
    instance_id: check.name(ACTION, "instanceId", instanceId ?? settings.instanceId),
    max_pickups: check.wholeNumber(ACTION, "maxPickups", maxPickups ?? settings.maxPickups, 1),
  };
}

function toClaim<P extends object, R extends Role<P>>(row: sql.DequeueManyRow): Claim<P, R> {
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

// SQLite's `returning` keeps no order.
function byQueueOrder(a: sql.DequeueManyRow, b: sql.DequeueManyRow): number {
  return a.priority - b.priority || compare(a.created_at, b.created_at) || compare(BigInt(a.attempt_id), BigInt(b.attempt_id));
}

// Nulls first, as SQLite has them: the older program may write no created_at.
function compare<T extends string | bigint>(a: T | null, b: T | null): number {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  return a < b ? -1 : Number(a > b);
}
