import { chaos, type Edit, type Mutation, suite } from "./mutation.ts";

const HELD_TOKEN = /fencing_token = cast\(:fencing_token as integer\)/;
const NO_TOKEN = "cast(:fencing_token as integer) is not null";
const HELD_INSTANCE = "locked_by_instance = cast(:instance_id as text)";
const NO_INSTANCE = "cast(:instance_id as text) is not null";
const BACKEND = "src/backends/sqlite.ts";
const BEGIN = `["begin immediate", "commit", "rollback"]`;

const CLIENT_CLOCK: Edit[] = [
  { file: BACKEND, from: "let statement = shared.statements.get(text);", to: `text = text.replaceAll("'now'", () => "'" + new Date().toISOString() + "'");\n    let statement = shared.statements.get(text);` },
];

const all: Omit<Mutation, "dialect">[] = [
  ...["complete", "fail", "release"].map((query) => ({
    name: `${query} without the fencing token`, edits: [{ file: query, from: HELD_TOKEN, to: NO_TOKEN }], caughtBy: suite("fencing"),
  })),
  ...["complete", "fail", "release"].map((query) => ({
    name: `${query} without the instance`, edits: [{ file: query, from: HELD_INSTANCE, to: NO_INSTANCE }], caughtBy: suite("fencing"),
  })),
  { name: "heartbeat without the fencing token", edits: [{ file: "heartbeat", from: /\n +and a\.fencing_token = cast\(json_extract\(lease\.value, '\$\.fencing_token'\) as integer\)/, to: "" }], caughtBy: suite("fencing") },
  { name: "heartbeat without the instance", edits: [{ file: "heartbeat", from: " and a.locked_by_instance = json_extract(lease.value, '$.instance_id')", to: "" }], caughtBy: suite("fencing") },
  { name: "dequeue gives no new fencing token", edits: [{ file: "dequeue", from: "fencing_token = fencing_token + 1", to: "fencing_token = fencing_token" }], caughtBy: suite("claiming") },
  { name: "dequeueMany gives no new fencing token", edits: [{ file: "dequeue_many", from: "fencing_token = fencing_token + 1", to: "fencing_token = fencing_token" }], caughtBy: chaos("SQLite", 3_000, "SIGKILL of workers") },
  { name: "dequeue takes what is at the limit: < to <=", edits: [{ file: "dequeue", from: "coalesce(a.pickup_count, 0) < cast(:max_pickups", to: "coalesce(a.pickup_count, 0) <= cast(:max_pickups" }], caughtBy: suite("claiming") },
  { name: "release counts as a pickup", edits: [{ file: "release", from: "set status = 'pending',", to: "set status = 'pending', pickup_count = pickup_count + 1," }], caughtBy: chaos("SQLite", 6_000, "SIGKILL of workers") },
  { name: "release leaves the fencing token", edits: [{ file: "release", from: " fencing_token = fencing_token + 1,", to: "" }], caughtBy: suite("hands back unharmed") },
  { name: "reap takes what is just as old as the limit: > to >=", edits: [{ file: "reap", from: /> cast\(:stale_after_ms/, to: ">= cast(:stale_after_ms" }], caughtBy: suite("reap times|staleAfterMs 0") },
  { name: "reap leaves the fencing token", edits: [{ file: "reap", from: "fencing_token = fencing_token + 1, ", to: "" }], caughtBy: chaos("SQLite", 6_000, "SIGKILL of workers") },
  { name: "reap leaves the workflow ACTIVE when an attempt is exhausted", edits: [{ file: "reap", from: "coalesce(w.status, 'ACTIVE') not in ('STUCK', 'CANCELLED')", to: "false" }], caughtBy: suite("is STUCK") },
  { name: "reap asks a client's clock", edits: CLIENT_CLOCK, caughtBy: chaos("SQLite", 6_000, "SIGKILL of workers") },
  { name: "complete adds what follows although the lease is lost", edits: [{ file: "complete", from: "where changes() = 1 and done.attempt_id", to: "where done.attempt_id" }], caughtBy: suite("fencing") },
  { name: "fail makes a retry although the lease is lost", edits: [{ file: "fail", from: "where changes() = 1 and :retry", to: "where :retry" }], caughtBy: suite("fencing") },
  { name: "retry leaves the pickups", edits: [{ file: "retry", from: "pickup_count = 0, ", to: "" }], caughtBy: suite("retry and cancel") },
  { name: "every statement is a transaction of its own", edits: [{ file: BACKEND, from: BEGIN, to: `["select 1 where 0", "select 1 where 0", "select 1 where 0"]` }], caughtBy: chaos("SQLite", 12_000, "SIGKILL") },
  {
    name: "begin in place of begin immediate",
    edits: [{ file: BACKEND, from: BEGIN, to: `["begin", "commit", "rollback"]` }],
    caughtBy: chaos("SQLite", 6_000, "foreign"),
    equivalent: "whoever read before somebody else wrote is told so by SQLite and begins again, as after any lock",
  },
];

export const sqliteMutations: readonly Mutation[] = all.map((mutation) => ({ ...mutation, dialect: "sqlite" }));
