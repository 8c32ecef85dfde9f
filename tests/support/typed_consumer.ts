/** A user's program that compiles only if the types of the package say neither more nor less than they should. */
export const TYPED = `
import Sqlite from "better-sqlite3";
import { PGlite } from "@electric-sql/pglite";
import Libsql from "libsql";
import pg from "pg";
import postgres from "postgres";
import { type Claim, type Connection, createQueue, LeaseLostError, type NewWork, SkiplockedError } from "skiplocked";
import { type Database, openSqlite } from "skiplocked/sqlite";

type Payloads = { builder: { repo: string }; mailer: string | null };
const sql = postgres("postgres://localhost");
const shim: Database = await openSqlite(":memory:");
const connections: Connection[] = [shim, new Sqlite(":memory:"), new Libsql(":memory:"), sql, new pg.Pool(), new pg.Client(), new PGlite()];
for (const connection of [shim, new Sqlite(":memory:"), sql, new pg.Pool(), new PGlite()]) createQueue(connection);
const queue = createQueue<Payloads>(sql, { schema: "jobs", maxPickups: 5 });

const one: { attemptId: string } = await queue.enqueue({ role: "builder", payload: { repo: "acme/web" }, delayMs: 5 });
const [first] = await queue.enqueue([{ role: "mailer" }, { role: "mailer", payload: "a", runAt: new Date() }]);
const work: NewWork<Payloads> = { role: "mailer", payload: null, workflowId: 1n, tier: null, key: "k" };
// @ts-expect-error The payload of another role.
await queue.enqueue({ role: "builder", payload: "text" });
// @ts-expect-error No payload where one is needed.
await queue.enqueue({ role: "builder" });
// @ts-expect-error No such role.
await queue.enqueue({ role: "painter" });
// @ts-expect-error Two times at once.
await queue.enqueue({ role: "mailer", delayMs: 1, runAt: new Date() });
// @ts-expect-error No such role.
await queue.dequeue({ roles: ["painter"] });
// @ts-expect-error No limit.
await queue.dequeueMany({ roles: ["mailer"] });

const claim = await queue.dequeue({ roles: ["builder"] });
if (claim.acquired) {
  const repo: string = claim.payload.repo;
  const role: "builder" = claim.role;
  // @ts-expect-error Ids are text.
  const id: number = claim.attemptId;
  await queue.complete(claim, { outcome: "built", result: { repo, role, id }, next: [work] });
  // @ts-expect-error Follow-up work has payloads as well.
  await queue.complete(claim, { next: [{ role: "builder", payload: {} }] });
} else {
  const reason: "no_roles_configured" | "no_pending_eligible" | "pickup_limit_exceeded" = claim.reason;
  // @ts-expect-error A refusal has no payload.
  console.log(reason, claim.payload);
}
const either: Claim<Payloads>[] = await queue.dequeueMany({ roles: ["builder", "mailer"], limit: 2 });
for (const each of either) {
  if (each.role === "builder") each.payload.repo.toUpperCase();
  // @ts-expect-error The payload may be a mailer's.
  else each.payload.repo;
}
await sql.begin(async (transaction) => {
  await queue.using(transaction).enqueue(work);
});
await queue.using(await new pg.Pool().connect()).enqueue(work);
await new PGlite().transaction(async (transaction) => {
  await queue.using(transaction).enqueue(work);
});
const untyped = await createQueue(sql).dequeue({ roles: ["any"] });
// @ts-expect-error Nothing is known of it.
if (untyped.acquired) untyped.payload.repo;
await createQueue(sql).enqueue({ role: "any", payload: [1, 2] });
const beats: { held: boolean }[] = await queue.heartbeat([{ attemptId: 1, instanceId: "me", fencingToken: "1" }]);
const code: string = new LeaseLostError("lost") instanceof SkiplockedError ? new LeaseLostError("lost").code : "";
console.log(one, first?.created, connections, beats, code);
`;
