/**
 * A work queue that is a few `.sql` files and a thin module that runs them, on Postgres and on SQLite.
 *
 * @example
 * ```ts
 * import { createQueue } from "skiplocked";
 * import { openSqlite } from "skiplocked/sqlite";
 *
 * const queue = createQueue(await openSqlite(":memory:"));
 * await queue.migrate();
 * await queue.enqueue({ role: "builder", payload: { repo: "acme/web" } });
 *
 * const claim = await queue.dequeue({ roles: ["builder"] });
 * if (claim.acquired) {
 *   await queue.heartbeat(claim);
 *   await queue.complete(claim, { outcome: "built" });
 * }
 * await queue.reap();
 * ```
 *
 * @module
 */

export { createQueue } from "./src/queue.ts";
export { LeaseLostError, SkiplockedError } from "./src/errors.ts";
export type { SkiplockedErrorCode } from "./src/errors.ts";
export type { Queue } from "./src/queue_type.ts";
export type {
  CompleteOptions,
  DequeueOptions,
  FailOptions,
  PruneOptions,
  QueueOptions,
  ReapOptions,
} from "./src/options.ts";
export type { Migrated } from "./src/backends/backend.ts";
export type { Connection, Transaction } from "./src/backends/recognise.ts";
export type { NodePostgres, PGliteShape, QueryConnection } from "./src/backends/query_connection.ts";
export type { PostgresJs, PostgresJsPool } from "./src/backends/postgres_js.ts";
export type { SqliteHandle, SqliteStatement } from "./src/backends/sqlite_handle.ts";
export type {
  Claim,
  DequeueResult,
  Enqueued,
  Id,
  Lease,
  NewWork,
  Payloads,
  Reaped,
  RefusalReason,
  Role,
  RoleStats,
  Stats,
  When,
} from "./src/types.ts";
