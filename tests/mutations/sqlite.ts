import { chaos, type Edit, type Mutation, suite } from "./mutation.ts";

const HELD_TOKEN = /fencing_token = cast\(:fencing_token as integer\)/;
const NO_TOKEN = "cast(:fencing_token as integer) is not null";
const HELD_INSTANCE = "locked_by_instance = cast(:instance_id as text)";
const NO_INSTANCE = "cast(:instance_id as text) is not null";
const BACKEND = "src/backends/sqlite.ts";
const BEGIN = `["begin immediate", "commit", "rollback"]`;

// Every statement is prepared there: the database's clock becomes the one that this process had then.
const CLIENT_CLOCK: Edit[] = [
  { file: BACKEND, from: "const known = shared.statements.get(text);", to: `text = text.replaceAll("'now'", () => "'" + new Date().toISOString().slice(0, -1) + "'");\n    const known = shared.statements.get(text);` },
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
  { name: "dequeueMany gives no new fencing token", edits: [{ file: "dequeue_many", from: "fencing_token = fencing_token + 1", to: "fencing_token = fencing_token" }], caughtBy: chaos("SQLite", 450, ["tokens"], "SIGKILL of workers") },
  { name: "dequeue takes what is at the limit: < to <=", edits: [{ file: "dequeue", from: "coalesce(a.pickup_count, 0) < cast(:max_pickups", to: "coalesce(a.pickup_count, 0) <= cast(:max_pickups" }], caughtBy: suite("claiming") },
  { name: "release counts as a pickup", edits: [{ file: "release", from: "set status = 'pending',", to: "set status = 'pending', pickup_count = pickup_count + 1," }], caughtBy: chaos("SQLite", 900, ["pickups"], "SIGKILL of workers") },
  { name: "release leaves the fencing token", edits: [{ file: "release", from: " fencing_token = fencing_token + 1,", to: "" }], caughtBy: suite("hands back unharmed") },
  { name: "reap takes what is just as old as the limit: > to >=", edits: [{ file: "reap", from: /> cast\(:stale_after_ms/, to: ">= cast(:stale_after_ms" }], caughtBy: suite("reap times|staleAfterMs 0") },
  { name: "reap leaves the fencing token", edits: [{ file: "reap", from: "fencing_token = fencing_token + 1, ", to: "" }], caughtBy: chaos("SQLite", 900, ["tokens"], "SIGKILL of workers") },
  { name: "reap leaves the workflow ACTIVE when an attempt is exhausted", edits: [{ file: "reap", from: "coalesce(w.status, 'ACTIVE') not in ('STUCK', 'CANCELLED')", to: "false" }], caughtBy: suite("is STUCK") },
  { name: "reap asks a client's clock", edits: CLIENT_CLOCK, caughtBy: chaos("SQLite", 900, ["held"], "SIGKILL of workers") },
  { name: "complete adds what follows although the lease is lost", edits: [{ file: "complete", from: "where changes() = 1 and done.attempt_id", to: "where done.attempt_id" }], caughtBy: suite("fencing") },
  { name: "fail makes a retry although the lease is lost", edits: [{ file: "fail", from: "where changes() = 1 and :retry", to: "where :retry" }], caughtBy: suite("fencing") },
  { name: "dequeueMany takes what is at the limit: < to <=", edits: [{ file: "dequeue_many", from: "coalesce(a.pickup_count, 0) < cast(:max_pickups", to: "coalesce(a.pickup_count, 0) <= cast(:max_pickups" }], caughtBy: suite("dequeueMany\\(\\) passes by") },
  { name: "dequeueMany brings one more than its limit", edits: [{ file: "dequeue_many", from: /limit cast\(:max_claims as integer\)\)/, to: "limit cast(:max_claims as integer) + 1)" }], caughtBy: suite("never more than limit") },
  { name: "enqueue takes the key of a scheduled attempt for free", edits: [{ file: "enqueue", from: "a.status in ('pending', 'scheduled', 'in_progress')", to: "a.status in ('pending', 'in_progress')" }], caughtBy: suite("returns the attempt that has the key") },
  { name: "enqueue makes both of a key that is twice in the list", edits: [{ file: "enqueue", from: "item.turn = 1 and not exists", to: "not exists" }], caughtBy: suite("twice in the list") },
  { name: "enqueue compares keys without regard to case", edits: [{ file: "enqueue", from: "a.key = item.key", to: "a.key = item.key collate nocase" }], caughtBy: suite("letter by letter") },
  { name: "prune takes what is STUCK or still ACTIVE", edits: [{ file: "prune", from: " and w.status in ('SUCCEEDED', 'FAILED', 'CANCELLED')", to: "" }], caughtBy: suite("prune\\(\\)") },
  { name: "prune takes what has an attempt to do", edits: [{ file: "prune", from: "(a.status in ('pending', 'scheduled', 'in_progress')", to: "(false" }], caughtBy: suite("prune\\(\\) keeps") },
  { name: "prune takes what is STUCK and marked as ended", edits: [{ file: "prune", from: "or a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted' and w.status <> 'CANCELLED'", to: "" }], caughtBy: { test: "tests/other_hands.test.ts", pattern: "whatever somebody marked" } },
  { name: "enqueue does not notice that rows vanish", edits: [{ file: "enqueue", from: "then 'dropped'", to: "then null" }], caughtBy: { test: "tests/other_hands.test.ts", pattern: "rows vanished" } },
  { name: "prune goes by the time of creation", edits: [{ file: "prune", from: "julianday(w.updated_at || ' ')", to: "julianday(w.created_at || ' ')" }], caughtBy: suite("prune\\(\\) goes by") },
  { name: "prune knows no limit", edits: [{ file: "prune", from: "limit coalesce(cast(:max_pruned as integer), -1)", to: "limit coalesce(cast(:max_pruned as integer) + 1000, -1)" }], caughtBy: suite("prune\\(\\) deletes no more") },
  { name: "retry leaves the pickups", edits: [{ file: "retry", from: "pickup_count = 0, ", to: "" }], caughtBy: suite("retry and cancel") },
  { name: "every statement is a transaction of its own", edits: [{ file: BACKEND, from: BEGIN, to: `["select 1 where 0", "select 1 where 0", "select 1 where 0"]` }], caughtBy: chaos("SQLite", 1_800, ["lost", "doubled", "workflows", "completed"], "SIGKILL") },
  {
    name: "begin in place of begin immediate",
    edits: [{ file: BACKEND, from: BEGIN, to: `["begin", "commit", "rollback"]` }],
    caughtBy: chaos("SQLite", 900, ["lost", "doubled", "workflows", "completed", "held"], "foreign"),
    equivalent: "whoever read before somebody else wrote is told so by SQLite and begins again, as after any lock",
  },
];

export const sqliteMutations: readonly Mutation[] = all.map((mutation) => ({ ...mutation, dialect: "sqlite" }));
