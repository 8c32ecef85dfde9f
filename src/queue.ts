/**
 * The queue: its operations as closures over a connection.
 *
 * @module
 */

import * as check from "./arguments.ts";
import type { Backend } from "./backends/backend.ts";
import { type Connection, recognise } from "./backends/recognise.ts";
import { defaultMaxPickups, newInstanceId } from "./environment.ts";
import { dequeue, dequeueMany } from "./operations/dequeue.ts";
import { enqueueAll } from "./operations/enqueue.ts";
import { complete, fail, heartbeat, release } from "./operations/lease.ts";
import { cancel, retry } from "./operations/operator.ts";
import { prune, reap, stats } from "./operations/upkeep.ts";
import type { QueueOptions } from "./options.ts";
import type { Queue } from "./queue_type.ts";
import type { Settings } from "./settings.ts";
import type { Enqueued, Lease, NewWork, Payloads } from "./types.ts";

const ACTION = "create a queue";
const OPTIONS = ["schema", "instanceId", "maxPickups", "staleAfterMs"] as const;
const DEFAULT_STALE_AFTER_MS = 60_000;

/**
 * A queue on an open connection of the caller's. It does no I/O, opens and closes nothing, and sets no session state.
 *
 * @typeParam P The payload of each role.
 * @param connection An open connection, known by its shape. Postgres: postgres.js or Bun.SQL (a pool, or the transaction it
 * gives), pg (Pool, Client), PGlite. SQLite: better-sqlite3, bun:sqlite, node:sqlite, libsql, {@linkcode openSqlite}.
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
export function createQueue<P extends object = Payloads>(connection: Connection, options?: QueueOptions): Queue<P> {
  const { schema, instanceId, maxPickups, staleAfterMs } = check.options(ACTION, options, OPTIONS);
  return queueOn(recognise(connection, schema === undefined ? undefined : check.schemaName(schema)), {
    instanceId: instanceId === undefined ? newInstanceId() : check.name(ACTION, "instanceId", instanceId),
    maxPickups: maxPickups === undefined ? defaultMaxPickups() : check.wholeNumber(ACTION, "maxPickups", maxPickups, 1),
    staleAfterMs: check.milliseconds(ACTION, "staleAfterMs", staleAfterMs ?? DEFAULT_STALE_AFTER_MS),
  });
}

function queueOn<P extends object>(backend: Backend, settings: Settings): Queue<P> {
  return {
    dialect: backend.dialect,
    instanceId: settings.instanceId,
    migrate: () => backend.migrate(),
    enqueue,
    dequeue: (options) => dequeue(backend, settings, options),
    dequeueMany: (options) => dequeueMany(backend, settings, options),
    heartbeat: beat,
    complete: (lease, options) => complete(backend, lease, options),
    fail: (lease, options) => fail(backend, lease, options),
    release: (lease) => release(backend, lease),
    reap: (options) => reap(backend, settings, options),
    retry: (workflowId) => retry(backend, workflowId),
    cancel: (workflowId) => cancel(backend, workflowId),
    stats: () => stats(backend),
    prune: (options) => prune(backend, options),
    using: (transaction) => queueOn(backend.within(transaction), settings),
  };

  async function enqueue(work: NewWork<P>): Promise<Enqueued>;
  async function enqueue(work: readonly NewWork<P>[]): Promise<Enqueued[]>;
  async function enqueue(work: NewWork<P> | readonly NewWork<P>[]): Promise<Enqueued | Enqueued[]> {
    if (Array.isArray(work)) return await enqueueAll(backend, work);
    const [done] = await enqueueAll(backend, [work as NewWork]);
    return done as Enqueued;
  }

  async function beat(lease: Lease): Promise<{ held: boolean }>;
  async function beat(leases: readonly Lease[]): Promise<{ held: boolean }[]>;
  async function beat(given: Lease | readonly Lease[]): Promise<{ held: boolean } | { held: boolean }[]> {
    if (Array.isArray(given)) return await heartbeat(backend, given);
    const [answer] = await heartbeat(backend, [given as Lease]);
    return answer as { held: boolean };
  }
}
