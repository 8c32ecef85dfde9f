/**
 * The queue: each operation checks its arguments, runs its query, and says what came of it.
 *
 * @module
 */

import * as check from "./arguments.ts";
import type { Backend, Migrated } from "./backends/backend.ts";
import { type Connection, recognise } from "./backends/recognise.ts";
import { byQueueOrder, toClaim } from "./claims.ts";
import { enqueueAll } from "./enqueue.ts";
import { defaultMaxPickups, newInstanceId } from "./environment.ts";
import { errorText } from "./error_text.ts";
import { LeaseLostError, SkiplockedError } from "./errors.ts";
import { encodeJson } from "./json.ts";
import type { CompleteOptions, FailOptions, Queue } from "./queue_type.ts";
import * as sql from "./sql.gen.ts";
import type { Claim, DequeueResult, Enqueued, Id, Lease, NewWork, Payloads, QueueOptions, Role, Stats } from "./types.ts";
import { encodeWork } from "./work.ts";

const DEFAULT_STALE_AFTER_MS = 60_000;

// Given by the reaper alone: it says that the workflow is STUCK.
const EXHAUSTED = "attempt-pickup-exhausted";
const INTERNAL_ERROR = "worker-internal-error";

/**
 * A queue on an open connection of the caller's. It does no I/O, opens and closes nothing, and sets no session state.
 *
 * @typeParam P The payload of each role.
 * @param connection postgres.js (a pool or the transaction it gives), or a SQLite handle (better-sqlite3, bun:sqlite,
 * {@linkcode openSqlite}).
 * @param options Schema, instance and limits.
 * @returns The operations as closures: they may be taken out of the object and passed around.
 * @throws {SkiplockedError} `unsupported_connection`; `invalid_argument`, also for a value of
 * `CONTROLLER_MAX_ATTEMPT_PICKUPS` that is no positive integer.
 *
 * @example
 * ```ts
 * import { createQueue } from "skiplocked";
 * import { openSqlite } from "skiplocked/sqlite";
 *
 * const queue = createQueue<{ builder: { repo: string } }>(await openSqlite(":memory:"));
 * await queue.migrate();
 * await queue.enqueue({ role: "builder", payload: { repo: "acme/web" } });
 * const claim = await queue.dequeue({ roles: ["builder"] });
 * if (claim.acquired) await queue.complete(claim, { outcome: "built", result: claim.payload.repo });
 * ```
 */
export function createQueue<P extends Payloads = Payloads>(connection: Connection, options?: QueueOptions): Queue<P> {
  const given = check.options("create a queue", options);
  const schema = given.schema === undefined ? undefined : check.schemaName(given.schema);
  return queueOn(recognise(connection, schema), {
    instanceId: given.instanceId === undefined ? newInstanceId() : check.name("create a queue", "instanceId", given.instanceId),
    maxPickups: given.maxPickups === undefined
      ? defaultMaxPickups()
      : check.wholeNumber("create a queue", "maxPickups", given.maxPickups, 1),
    staleAfterMs: check.milliseconds("create a queue", "staleAfterMs", given.staleAfterMs ?? DEFAULT_STALE_AFTER_MS),
  });
}

interface Settings {
  readonly instanceId: string;
  readonly maxPickups: number;
  readonly staleAfterMs: number;
}

function queueOn<P extends Payloads>(backend: Backend, settings: Settings): Queue<P> {
  return {
    dialect: backend.dialect,
    instanceId: settings.instanceId,
    migrate,
    enqueue,
    dequeue,
    dequeueMany,
    heartbeat,
    complete,
    fail,
    release,
    reap,
    retry,
    cancel,
    stats,
    prune,
    using,
  };

  function migrate(): Promise<Migrated> {
    return backend.migrate();
  }

  async function enqueue(work: NewWork<P>): Promise<Enqueued>;
  async function enqueue(work: readonly NewWork<P>[]): Promise<Enqueued[]>;
  async function enqueue(work: NewWork<P> | readonly NewWork<P>[]): Promise<Enqueued | Enqueued[]> {
    if (Array.isArray(work)) return await enqueueAll(backend, work);
    const [done] = await enqueueAll(backend, [work as NewWork]);
    return done as Enqueued;
  }

  async function dequeue<R extends Role<P>>(options: Parameters<Queue<P>["dequeue"]>[0]): Promise<DequeueResult<P, R>> {
    const params = claimParams("dequeue", options);
    if (params.roles === "[]") return { acquired: false, reason: "no_roles_configured" };
    const [row] = await backend.run(sql.dequeue, params);
    const { reason } = row as sql.DequeueRow;
    if (reason !== null) return { acquired: false, reason: reason as "no_pending_eligible" | "pickup_limit_exceeded" };
    return toClaim(row as sql.DequeueManyRow);
  }

  async function dequeueMany<R extends Role<P>>(options: Parameters<Queue<P>["dequeueMany"]>[0]): Promise<Claim<P, R>[]> {
    const params = claimParams("dequeue", options);
    const max_claims = check.wholeNumber("dequeue", "limit", options?.limit, 1);
    if (params.roles === "[]") return [];
    const rows = await backend.run(sql.dequeueMany, { ...params, max_claims });
    return rows.sort(byQueueOrder).map((row) => toClaim<P, R>(row));
  }

  async function heartbeat(lease: Lease): Promise<{ held: boolean }>;
  async function heartbeat(leases: readonly Lease[]): Promise<{ held: boolean }[]>;
  async function heartbeat(given: Lease | readonly Lease[]): Promise<{ held: boolean } | { held: boolean }[]> {
    const list = Array.isArray(given) ? given as readonly Lease[] : [given as Lease];
    const leases = JSON.stringify(list.map((each) => check.lease("heartbeat", each)));
    const beats = list.length === 0 ? [] : await backend.run(sql.heartbeat, { leases });
    return Array.isArray(given) ? beats : beats[0] as { held: boolean };
  }

  async function complete(lease: Lease, options?: CompleteOptions<P>): Promise<void> {
    const { outcome, result, next } = check.options("complete", options);
    if (next !== undefined && !Array.isArray(next)) throw check.invalid("complete", "next", "an array of work", next);
    const params = {
      ...check.lease("complete", lease),
      outcome: optionalText("complete", "outcome", outcome),
      result: encodeJson("complete", "result", result),
      next: next === undefined ? null : encodeWork("complete", next, false),
    };
    const [row] = await backend.run(sql.complete, params);
    // In a transaction the first run keeps the workflow locked, so that the second is not overtaken again.
    const settled = row?.contended
      ? await backend.transaction(async (inside) => {
        await inside.run(sql.complete, params);
        return (await inside.run(sql.complete, params))[0];
      })
      : row;
    if (settled === undefined) throw lost("complete", lease);
  }

  async function fail(lease: Lease, options?: FailOptions): Promise<void> {
    const { outcome, error, result, retry } = check.options("fail", options);
    if (outcome === EXHAUSTED) throw check.invalid("fail", "outcome", "left to the reaper when it says that", outcome);
    if (outcome === INTERNAL_ERROR && retry !== undefined) {
      throw check.invalid("fail", "retry", `left out with the outcome "${INTERNAL_ERROR}", which the reaper gives another pickup`, retry);
    }
    const { delayMs, tier } = check.options("fail", retry);
    const rows = await backend.run(sql.fail, {
      ...check.lease("fail", lease),
      outcome: optionalText("fail", "outcome", outcome),
      error: errorText(error),
      result: encodeJson("fail", "result", result),
      retry: retry !== undefined,
      delay_ms: delayMs === undefined ? null : check.milliseconds("fail", "retry.delayMs", delayMs),
      tier: tier === undefined || tier === null ? null : check.wholeNumber("fail", "retry.tier", tier, -(2 ** 31)),
    });
    if (rows.length === 0) throw lost("fail", lease);
  }

  async function release(lease: Lease): Promise<void> {
    const rows = await backend.run(sql.release, check.lease("release", lease));
    if (rows.length === 0) throw lost("release", lease);
  }

  async function reap(options?: Parameters<Queue<P>["reap"]>[0]): ReturnType<Queue<P>["reap"]> {
    const { staleAfterMs, maxPickups, limit } = check.options("reap", options);
    const rows = await backend.run(sql.reap, {
      stale_after_ms: check.milliseconds("reap", "staleAfterMs", staleAfterMs ?? settings.staleAfterMs),
      max_pickups: check.wholeNumber("reap", "maxPickups", maxPickups ?? settings.maxPickups, 1),
      max_reaped: limit === undefined ? null : check.wholeNumber("reap", "limit", limit, 1),
    });
    const reaped = rows
      .sort((a, b) => Number(BigInt(a.attempt_id) - BigInt(b.attempt_id)))
      .map((row) => ({
        attemptId: row.attempt_id,
        workflowId: row.workflow_id,
        role: row.role,
        pickupCount: row.pickup_count,
        previousInstanceId: row.previous_instance_id,
      }));
    return {
      requeued: reaped.filter((_, place) => !rows[place]?.stuck),
      stuck: reaped.filter((_, place) => rows[place]?.stuck),
    };
  }

  async function retry(workflowId: Id): Promise<void> {
    const workflow_id = check.id("retry", "workflowId", workflowId);
    const [row] = await backend.run(sql.retry, { workflow_id });
    if (row?.done) return;
    if (row?.key) {
      const message = `Cannot retry workflow ${workflow_id}: another attempt is open under the key ${check.show(row.key)} of one of its attempts`;
      throw new SkiplockedError("wrong_state", message);
    }
    throw refused("retry", workflow_id, row?.status, "only a STUCK workflow can be retried");
  }

  async function cancel(workflowId: Id): Promise<void> {
    const workflow_id = check.id("cancel", "workflowId", workflowId);
    const [row] = await backend.run(sql.cancel, { workflow_id });
    if (!row?.done) throw refused("cancel", workflow_id, row?.status, "nothing of it is open");
  }

  async function stats(): Promise<Stats> {
    const rows = await backend.run(sql.stats, {});
    const roles = rows.flatMap(({ role, pending, scheduled, succeeded, failed, ...row }) =>
      role === null ? [] : {
        role,
        pending,
        scheduled,
        inProgress: row.in_progress,
        succeeded,
        failed,
        oldestPendingMs: row.oldest_pending_ms,
        oldestHeartbeatMs: row.oldest_heartbeat_ms,
      }
    );
    return { roles, stuck: rows[0]?.stuck ?? 0 };
  }

  async function prune(options: Parameters<Queue<P>["prune"]>[0]): ReturnType<Queue<P>["prune"]> {
    const { olderThanMs, limit } = check.options("prune", options);
    const rows = await backend.run(sql.prune, {
      older_than_ms: check.milliseconds("prune", "olderThanMs", olderThanMs),
      max_pruned: limit === undefined ? null : check.wholeNumber("prune", "limit", limit, 1),
    });
    return rows.reduce((sum, row) => ({
      workflows: sum.workflows + row.workflows,
      attempts: sum.attempts + row.attempts,
    }), { workflows: 0, attempts: 0 });
  }

  function using(transaction: Connection): Queue<P> {
    return queueOn(backend.within(transaction), settings);
  }

  function claimParams(action: string, options: Parameters<Queue<P>["dequeue"]>[0]) {
    const { roles, instanceId, maxPickups } = check.options(action, options);
    return {
      roles: JSON.stringify(check.roles(action, roles)),
      instance_id: check.name(action, "instanceId", instanceId ?? settings.instanceId),
      max_pickups: check.wholeNumber(action, "maxPickups", maxPickups ?? settings.maxPickups, 1),
    };
  }
}

function optionalText(action: string, argument: string, value: string | null | undefined): string | null {
  return value === undefined || value === null ? null : check.text(action, argument, value);
}

function lost(action: string, { attemptId, instanceId, fencingToken }: Lease): LeaseLostError {
  const message = `Cannot ${action} attempt ${attemptId}: ${check.show(instanceId)} does not hold it under fencing token ${fencingToken} ` +
    `(any more); nothing was changed, stop working on it`;
  return new LeaseLostError(message);
}

function refused(action: string, workflowId: string, status: string | null | undefined, rule: string): SkiplockedError {
  return status === null || status === undefined
    ? new SkiplockedError("not_found", `Cannot ${action} workflow ${workflowId}: there is none`)
    : new SkiplockedError("wrong_state", `Cannot ${action} workflow ${workflowId}: it is ${status}, and ${rule}`);
}
