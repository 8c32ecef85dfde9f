import * as check from "../arguments.ts";
import type { Backend } from "../backends/backend.ts";
import { errorText } from "../error_text.ts";
import { LeaseLostError } from "../errors.ts";
import { encodeJson } from "../json.ts";
import type { CompleteOptions, FailOptions } from "../options.ts";
import * as sql from "../sql.gen.ts";
import type { Lease } from "../types.ts";
import { encodeWork } from "./work.ts";

// The worker broke and not the work: the reaper gives the attempt another pickup.
const INTERNAL_ERROR = "worker-internal-error";

// Given by the reaper alone: it says that the workflow is STUCK.
const EXHAUSTED = "attempt-pickup-exhausted";

/** Keeps leases alive; see `heartbeat.sql`. */
export async function heartbeat(backend: Backend, list: readonly Lease[]): Promise<{ held: boolean }[]> {
  const leases = JSON.stringify(Array.from(list, (lease) => check.lease("heartbeat", lease)));
  return list.length === 0 ? [] : await backend.run(sql.heartbeat, { leases });
}

/** Ends a lease with success; see `complete.sql`. */
export async function complete<P extends object>(
  backend: Backend,
  lease: Lease,
  options: CompleteOptions<P> | undefined,
): Promise<void> {
  const { outcome, result, next } = check.options("complete", options, ["outcome", "result", "next"]);
  if (next !== undefined && !Array.isArray(next)) throw check.invalid("complete", "next", "an array of work", next);
  const params = {
    ...check.lease("complete", lease),
    outcome: check.optionalText("complete", "outcome", outcome),
    result: encodeJson("complete", "result", result),
    next: next === undefined ? null : encodeWork("complete", next, false),
  };
  const [row] = await backend.run(sql.complete, params);
  const settled = row?.contended ? await backend.transaction((inside) => again(inside, params)) : row;
  if (settled === undefined) throw lost("complete", lease);
}

// In a transaction the first run keeps the workflow locked, so that the second one is not overtaken.
async function again(backend: Backend, params: sql.CompleteParams): Promise<sql.CompleteRow | undefined> {
  const [row] = await backend.run(sql.complete, params);
  return row?.contended ? (await backend.run(sql.complete, params))[0] : row;
}

/** Ends a lease with failure; see `fail.sql`. */
export async function fail(backend: Backend, lease: Lease, options: FailOptions | undefined): Promise<void> {
  const { outcome, error, result, retry } = check.options("fail", options, ["outcome", "error", "result", "retry"]);
  if (outcome === EXHAUSTED) throw check.invalid("fail", "outcome", "left to the reaper when it says that", outcome);
  if (outcome === INTERNAL_ERROR && retry !== undefined) {
    throw check.invalid("fail", "retry", `left out with the outcome "${INTERNAL_ERROR}", which gets another pickup anyhow`, retry);
  }
  const { delayMs, tier } = check.options("fail", retry, ["delayMs", "tier"], "retry");
  const rows = await backend.run(sql.fail, {
    ...check.lease("fail", lease),
    outcome: check.optionalText("fail", "outcome", outcome),
    error: errorText(error),
    result: encodeJson("fail", "result", result),
    retry: retry !== undefined,
    delay_ms: delayMs === undefined ? null : check.milliseconds("fail", "retry.delayMs", delayMs),
    tier: tier === undefined || tier === null ? null : check.integer("fail", "retry.tier", tier),
  });
  if (rows.length === 0) throw lost("fail", lease);
}

/** Hands an attempt back; see `release.sql`. */
export async function release(backend: Backend, lease: Lease): Promise<void> {
  const rows = await backend.run(sql.release, check.lease("release", lease));
  if (rows.length === 0) throw lost("release", lease);
}

function lost(action: string, { attemptId, instanceId, fencingToken }: Lease): LeaseLostError {
  const message = `Cannot ${action} attempt ${attemptId}: ${check.show(instanceId)} does not hold it under fencing token ` +
    `${fencingToken} (any more), nothing was changed; stop working on it`;
  return new LeaseLostError(message);
}
