import * as check from "../arguments.ts";
import type { Backend } from "../backends/backend.ts";
import type { PruneOptions, ReapOptions } from "../options.ts";
import type { Settings } from "../settings.ts";
import * as sql from "../sql.gen.ts";
import type { Reaped, Stats } from "../types.ts";

/** Takes back what went silent; see `reap.sql`. */
export async function reap(
  backend: Backend,
  settings: Settings,
  options: ReapOptions | undefined,
): Promise<{ requeued: Reaped[]; stuck: Reaped[] }> {
  const { staleAfterMs, maxPickups, limit } = check.options("reap", options, ["staleAfterMs", "maxPickups", "limit"]);
  const rows = await backend.run(sql.reap, {
    stale_after_ms: check.milliseconds("reap", "staleAfterMs", staleAfterMs ?? settings.staleAfterMs),
    max_pickups: check.wholeNumber("reap", "maxPickups", maxPickups ?? settings.maxPickups, 1),
    max_reaped: limit === undefined ? null : check.wholeNumber("reap", "limit", limit, 1),
  });
  // SQLite's `returning` keeps no order.
  rows.sort((a, b) => BigInt(a.attempt_id) < BigInt(b.attempt_id) ? -1 : 1);
  return {
    requeued: rows.filter((row) => !row.stuck).map(toReaped),
    stuck: rows.filter((row) => row.stuck).map(toReaped),
  };
}

function toReaped(row: sql.ReapRow): Reaped {
  return {
    attemptId: row.attempt_id,
    workflowId: row.workflow_id,
    role: row.role,
    pickupCount: row.pickup_count,
    previousInstanceId: row.previous_instance_id,
  };
}

/** How each role stands; see `stats.sql`. */
export async function stats(backend: Backend): Promise<Stats> {
  const rows = await backend.run(sql.stats, {});
  const roles = rows.flatMap(({ role, ...row }) =>
    role === null ? [] : {
      role,
      pending: row.pending,
      scheduled: row.scheduled,
      inProgress: row.in_progress,
      succeeded: row.succeeded,
      failed: row.failed,
      oldestPendingMs: row.oldest_pending_ms,
      oldestHeartbeatMs: row.oldest_heartbeat_ms,
    }
  );
  return { roles, stuck: rows[0]?.stuck ?? 0 };
}

/** Deletes what ended long ago; see `prune.sql`. */
export async function prune(backend: Backend, options: PruneOptions): Promise<{ workflows: number; attempts: number }> {
  const { olderThanMs, limit } = check.options("prune", options, ["olderThanMs", "limit"]);
  const rows = await backend.run(sql.prune, {
    older_than_ms: check.milliseconds("prune", "olderThanMs", olderThanMs),
    max_pruned: limit === undefined ? null : check.wholeNumber("prune", "limit", limit, 1),
  });
  const total = (column: "workflows" | "attempts") => rows.reduce((sum, row) => sum + row[column], 0);
  return { workflows: total("workflows"), attempts: total("attempts") };
}
