/**
 * What a queue can do.
 *
 * @module
 */

import type { Migrated } from "./backends/backend.ts";
import type { Transaction } from "./backends/recognise.ts";
import type { CompleteOptions, DequeueOptions, FailOptions, PruneOptions, ReapOptions } from "./options.ts";
import type { Claim, DequeueResult, Enqueued, Id, Lease, NewWork, Payloads, Reaped, Role, Stats } from "./types.ts";

/** A queue, see {@linkcode createQueue}. Its operations are closures. */
export interface Queue<P extends object = Payloads> {
  /** Which dialect of SQL the connection speaks. */
  readonly dialect: "postgres" | "sqlite";
  /** Who claims, unless a call says otherwise. */
  readonly instanceId: string;

  /**
   * Makes the tables, or brings them to the version of this code. Any number of processes may call it at once; it does
   * nothing when there is nothing to do, and takes over a `workflow_attempts` of the older program with all its rows. On
   * Postgres it makes the schema too, if that is missing.
   *
   * @returns The version before (0: there were no tables) and after.
   * @throws {SkiplockedError} `schema_too_new`, `schema_conflict`.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * console.log(await queue.migrate()); // { from: 0, to: 1 }
   * ```
   */
  migrate(): Promise<Migrated>;

  /**
   * Enqueues attempts: each makes a new workflow, or joins the one it names. A list is enqueued as a whole or not at all.
   *
   * With `delayMs` or `runAt`, whatever their value, an attempt is `scheduled`: the first `reap` after it is due makes it
   * pending. With a `key`, an attempt that is open under it is returned instead of a second one.
   *
   * @param work One item, or a list of them.
   * @returns The ids, in the order given.
   * @throws {SkiplockedError} `invalid_argument`; `not_found` or `workflow_closed` for a workflow that cannot be joined.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * const { workflowId } = await queue.enqueue({ role: "mailer", payload: { to: "a@example.org" }, key: "welcome/a" });
   * await queue.enqueue([{ role: "indexer", workflowId }, { role: "mailer", delayMs: 60_000 }]);
   * ```
   */
  enqueue(work: NewWork<P>): Promise<Enqueued>;
  /** The same for many, all or none. */
  enqueue(work: readonly NewWork<P>[]): Promise<Enqueued[]>;

  /**
   * Claims the first pending attempt of the listed roles: lowest priority number, then oldest. Two calls never get the same
   * attempt while its lease lasts, on any number of machines.
   *
   * @param options Which roles; optionally who claims, and the limit of pickups.
   * @returns A claim, or why there is none: test `acquired`.
   * @throws {SkiplockedError} `invalid_argument`, `schema_missing`, `busy`.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * const claim = await queue.dequeue({ roles: ["mailer", "indexer"] });
   * console.log(claim.acquired ? claim.attemptId : claim.reason); // no_pending_eligible
   * ```
   */
  dequeue<R extends Role<P>>(options: DequeueOptions<R>): Promise<DequeueResult<P, R>>;

  /**
   * Claims up to `limit` attempts in one statement, in the order of the queue. It may bring fewer while others claim, but
   * not none while something is free.
   *
   * @param options As for `dequeue`, and `limit`: how many at the most.
   * @returns The claims, first in the queue first.
   * @throws {SkiplockedError} As `dequeue`.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * await queue.enqueue([{ role: "mailer" }, { role: "mailer" }]);
   * for (const claim of await queue.dequeueMany({ roles: ["mailer"], limit: 100 })) await queue.complete(claim);
   * ```
   */
  dequeueMany<R extends Role<P>>(options: DequeueOptions<R> & { limit: number }): Promise<Claim<P, R>[]>;

  /**
   * Keeps leases alive, one or many in one statement. Call it well within `staleAfterMs`.
   *
   * While a transaction holds the row of one of the attempts, the whole call waits for it: end leases in short ones.
   *
   * @param lease A claim, or the part of it that proves possession; or a list of them.
   * @returns For each lease whether it is still held. When it is not, stop: somebody else works on the attempt, or will.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * await queue.enqueue({ role: "mailer" });
   * const claim = await queue.dequeue({ roles: ["mailer"] });
   * if (claim.acquired && !(await queue.heartbeat(claim)).held) console.log("stop");
   * ```
   */
  heartbeat(lease: Lease): Promise<{ held: boolean }>;
  /** The same for many leases, in one statement. */
  heartbeat(leases: readonly Lease[]): Promise<{ held: boolean }[]>;

  /**
   * Ends a lease with success. The workflow is SUCCEEDED when nothing of it is open any more. With `next` follow-up
   * attempts are added in the same transaction; one whose key is open elsewhere is left out.
   *
   * @param lease The claim.
   * @param options What came of it, and what follows.
   * @throws {LeaseLostError} If the attempt is not held under this lease; nothing was changed.
   * @throws {SkiplockedError} `invalid_argument`.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * await queue.enqueue({ role: "builder" });
   * const claim = await queue.dequeue({ roles: ["builder"] });
   * if (claim.acquired) await queue.complete(claim, { outcome: "built", next: [{ role: "mailer" }] });
   * ```
   */
  complete(lease: Lease, options?: CompleteOptions<P>): Promise<void>;

  /**
   * Ends a lease with failure: for good, which makes the workflow FAILED, or with a `retry`, a new attempt of the same work
   * at the end of the queue. With the outcome `worker-internal-error` the reaper gives the attempt another pickup instead.
   *
   * @param lease The claim.
   * @param options What went wrong, and whether to try again.
   * @throws {LeaseLostError} If the attempt is not held under this lease; nothing was changed.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * await queue.enqueue({ role: "mailer" });
   * const claim = await queue.dequeue({ roles: ["mailer"] });
   * if (claim.acquired) await queue.fail(claim, { outcome: "refused", error: new Error("550"), retry: { delayMs: 30_000 } });
   * ```
   */
  fail(lease: Lease, options?: FailOptions): Promise<void>;

  /**
   * Hands an attempt back unharmed: pending again at its old place, and not counted as a pickup.
   *
   * @param lease The claim.
   * @throws {LeaseLostError} If the attempt is not held under this lease; nothing was changed.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * await queue.enqueue({ role: "mailer" });
   * const claim = await queue.dequeue({ roles: ["mailer"] });
   * if (claim.acquired) await queue.release(claim);
   * ```
   */
  release(lease: Lease): Promise<void>;

  /**
   * Takes back what was silent for longer than `staleAfterMs` milliseconds and counts the pickup; at `maxPickups` the
   * attempt fails and its workflow is STUCK. Makes scheduled attempts pending that are due. Run it every few seconds, from
   * as many places as you like.
   *
   * @param options Limits; `limit` bounds both the attempts taken back and those made pending.
   * @returns What went back to the queue and what got stuck, by id, each with its previous owner.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * const { requeued, stuck } = await queue.reap({ staleAfterMs: 30_000 });
   * console.log(requeued.length, stuck.length); // 0 0
   * ```
   */
  reap(options?: ReapOptions): Promise<{ requeued: Reaped[]; stuck: Reaped[] }>;

  /**
   * An operator's word that a STUCK workflow may go on: its exhausted attempts are pending again with no pickup counted.
   *
   * @param workflowId The workflow.
   * @throws {SkiplockedError} `not_found`, `wrong_state`; nothing was changed.
   */
  retry(workflowId: Id): Promise<void>;

  /**
   * Cancels a workflow with every open attempt. Who holds one of them learns it at the next heartbeat.
   *
   * @param workflowId The workflow.
   * @throws {SkiplockedError} `not_found`, `wrong_state`; nothing was changed.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * const { workflowId } = await queue.enqueue({ role: "mailer" });
   * await queue.cancel(workflowId);
   * ```
   */
  cancel(workflowId: Id): Promise<void>;

  /**
   * Counts by role and state, and ages. It reads the whole table: not for every second.
   *
   * @returns Roles by name, and the number of STUCK workflows.
   */
  stats(): Promise<Stats>;

  /**
   * Deletes workflows that ended and have not changed for `olderThanMs` milliseconds, at most `limit` of them, with their
   * attempts. What is STUCK stays.
   *
   * @param options How old, and how many at the most.
   * @returns How many rows were deleted.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const queue = createQueue(await openSqlite(":memory:"));
   * await queue.migrate();
   * console.log(await queue.prune({ olderThanMs: 7 * 86_400_000 })); // { workflows: 0, attempts: 0 }
   * ```
   */
  prune(options: PruneOptions): Promise<{ workflows: number; attempts: number }>;

  /**
   * The same queue on a transaction of yours: what it does commits or vanishes with your own rows.
   *
   * @param transaction What `sql.begin` (postgres.js, Bun.SQL) or `db.transaction` (PGlite) gives its callback, the client of
   * pg that ran `begin`, any object with `query(text, values)` that is in a transaction. SQLite: the handle that is in one.
   * @returns A queue to use until the transaction ends; what it refuses leaves the transaction usable.
   * @throws {SkiplockedError} `unsupported_connection`.
   *
   * @example
   * ```ts
   * import { createQueue } from "skiplocked";
   * import { openSqlite } from "skiplocked/sqlite";
   *
   * const db = await openSqlite(":memory:");
   * const queue = createQueue(db);
   * await queue.migrate();
   * db.exec("begin");
   * await queue.using(db).enqueue({ role: "mailer" });
   * db.exec("rollback");
   * console.log((await queue.stats()).roles); // []
   * ```
   */
  using(transaction: Transaction): Queue<P>;
}
