/**
 * What the operations may be told.
 *
 * @module
 */

import type { NewWork, Payloads } from "./types.ts";

/** Options of {@linkcode createQueue}. */
export interface QueueOptions {
  /** Postgres: the schema of the tables. A SQLite file has one queue and takes no schema. @default {"public"} */
  schema?: string;
  /** Who claims, unless a call says otherwise. @default {`${hostname}/${pid}/${uuid}`} */
  instanceId?: string;
  /** How often an attempt may be reaped. @default {CONTROLLER_MAX_ATTEMPT_PICKUPS of the environment, else 3} */
  maxPickups?: number;
  /** How long a lease lives without a heartbeat, in milliseconds. @default {60_000} */
  staleAfterMs?: number;
}

/** Options of {@linkcode Queue.dequeue}. */
export interface DequeueOptions<R extends string = string> {
  /** The roles to claim for; all of them together are one queue. */
  roles: readonly R[];
  /** Who claims. @default {queue.instanceId} */
  instanceId?: string;
  /** Attempts that were reaped this often are left. @default {the queue's} */
  maxPickups?: number;
}

/** Options of {@linkcode Queue.complete}. */
export interface CompleteOptions<P extends object = Payloads> {
  /** What came of it, in your words. */
  outcome?: string | null;
  /** Kept with the attempt, as JSON. */
  result?: unknown;
  /** Follow-up attempts of the same workflow, added in the same transaction. */
  next?: readonly NewWork<P>[];
}

/** Options of {@linkcode Queue.fail}. */
export interface FailOptions {
  /** What came of it, in your words; `worker-internal-error` says that the worker broke and not the work. */
  outcome?: string | null;
  /** What was thrown: its text is kept, up to 10,000 characters. */
  error?: unknown;
  /** Kept with the attempt, as JSON. */
  result?: unknown;
  /** Make a new attempt of the same work: after `delayMs` milliseconds, and of another `tier`, if given. */
  retry?: { delayMs?: number; tier?: number | null };
}

/** Options of {@linkcode Queue.reap}. */
export interface ReapOptions {
  /** How long a lease lives without a heartbeat, in milliseconds. @default {the queue's} */
  staleAfterMs?: number;
  /** At how many pickups an attempt is given up. @default {the queue's} */
  maxPickups?: number;
  /** How many attempts at the most; the rest waits for the next call. @default {all} */
  limit?: number;
}

/** Options of {@linkcode Queue.prune}. */
export interface PruneOptions {
  /** Since when nothing of the workflow has changed, in milliseconds. */
  olderThanMs: number;
  /** How many workflows at the most. @default {all} */
  limit?: number;
}
