import { chaos, type Edit, type Mutation, races, suite } from "./mutation.ts";

const HELD_TOKEN = "a.fencing_token = cast(:fencing_token as bigint)";
const NO_TOKEN = "cast(:fencing_token as bigint) is not null";
const HELD_INSTANCE = "a.locked_by_instance = cast(:instance_id as text)";
const NO_INSTANCE = "cast(:instance_id as text) is not null";
const LOCK = "for update of a skip locked";

// What qualifies names sees every statement on its way: there the database's clock becomes this process's.
const CLIENT_CLOCK: Edit = {
  file: "src/backends/postgres.ts",
  from: "return qualified;",
  to: `return qualified.replaceAll("clock_timestamp()", () => "timestamptz '" + new Date().toISOString() + "'");`,
};

const all: Omit<Mutation, "dialect">[] = [
  ...["complete", "fail", "release"].map((query) => ({
    name: `${query} without the fencing token`, edits: [{ file: query, from: HELD_TOKEN, to: NO_TOKEN }], caughtBy: suite("fencing"),
  })),
  ...["complete", "fail", "release"].map((query) => ({
    name: `${query} without the instance`, edits: [{ file: query, from: HELD_INSTANCE, to: NO_INSTANCE }], caughtBy: suite("fencing"),
  })),
  { name: "heartbeat without the fencing token", edits: [{ file: "heartbeat", from: " and a.fencing_token = asked.fencing_token", to: "" }], caughtBy: suite("fencing") },
  { name: "heartbeat without the instance", edits: [{ file: "heartbeat", from: "a.locked_by_instance = asked.instance_id and ", to: "" }], caughtBy: suite("fencing") },
  { name: "heartbeat with now(), which stands still in a transaction", edits: [{ file: "heartbeat", from: "clock_timestamp()", to: "now()" }], caughtBy: suite("transactions") },
  { name: "dequeue waits for locked rows: no SKIP LOCKED", edits: [{ file: "dequeue", from: LOCK, to: "for update of a" }], caughtBy: races("passed by|come away empty") },
  { name: "dequeue takes no lock: no FOR UPDATE", edits: [{ file: "dequeue", from: LOCK, to: "" }], caughtBy: { test: "tests/processes.test.ts", pattern: "eight drain" } },
  { name: "dequeueMany waits for locked rows: no SKIP LOCKED", edits: [{ file: "dequeue_many", from: LOCK, to: "for update of a" }], caughtBy: races("passed by|come away empty") },
  { name: "dequeueMany takes no lock: no FOR UPDATE", edits: [{ file: "dequeue_many", from: LOCK, to: "" }], caughtBy: { test: "tests/processes.test.ts", pattern: "eight drain" } },
  { name: "dequeue takes what is at the limit: < to <=", edits: [{ file: "dequeue", from: "a.pickup_count < wanted.max_pickups", to: "a.pickup_count <= wanted.max_pickups" }], caughtBy: suite("claiming") },
  { name: "dequeue gives no new fencing token", edits: [{ file: "dequeue", from: "fencing_token = a.fencing_token + 1", to: "fencing_token = a.fencing_token" }], caughtBy: suite("claiming") },
  { name: "dequeueMany gives no new fencing token", edits: [{ file: "dequeue_many", from: "fencing_token = a.fencing_token + 1", to: "fencing_token = a.fencing_token" }], caughtBy: chaos("Postgres", 1_600, ["tokens"], "dropped") },
  { name: "release counts as a pickup", edits: [{ file: "release", from: "set status = 'pending',", to: "set status = 'pending', pickup_count = a.pickup_count + 1," }], caughtBy: chaos("Postgres", 1_600, ["pickups"], "dropped") },
  { name: "release leaves the fencing token", edits: [{ file: "release", from: " fencing_token = a.fencing_token + 1,", to: "" }], caughtBy: suite("hands back unharmed") },
  {
    name: "reap by id, without a second look at the locked row",
    edits: [{ file: "reap", from: /and \(a\.status = 'in_progress'\n[\s\S]*?>= cast\(:max_pickups as integer\)\)\n/, to: "" }],
    caughtBy: races("and reap: one of them"),
  },
  { name: "reap waits for locked rows: no SKIP LOCKED", edits: [{ file: "reap", from: LOCK, to: "for update of a" }], caughtBy: { test: "tests/faults.test.ts", pattern: "does not wait for it" } },
  { name: "reap locks no row: no FOR UPDATE", edits: [{ file: "reap", from: LOCK, to: "" }], caughtBy: races("four reapers") },
  { name: "reap does not count", edits: [{ file: "reap", from: "status = 'pending', pickup_count = a.pickup_count + 1", to: "status = 'pending', pickup_count = a.pickup_count" }], caughtBy: suite("is STUCK") },
  { name: "reap leaves the fencing token", edits: [{ file: "reap", from: /fencing_token = a\.fencing_token \+ 1/, to: "fencing_token = a.fencing_token" }], caughtBy: chaos("Postgres", 1_600, ["tokens"], "SIGSTOP") },
  { name: "reap leaves the workflow ACTIVE when an attempt is exhausted", edits: [{ file: "reap", from: "where w.status not in ('STUCK', 'CANCELLED')", to: "where false" }], caughtBy: suite("is STUCK") },
  { name: "reap gives up one pickup later: >= to >", edits: [{ file: "reap", from: "counted.pickup_count >= cast", to: "counted.pickup_count > cast" }], caughtBy: suite("is STUCK") },
  { name: "reap asks a client's clock", edits: [CLIENT_CLOCK], caughtBy: chaos("Postgres", 1_600, ["held"], "SIGKILL of workers") },
  {
    name: "complete does not lock its workflow",
    edits: [{ file: "complete", from: /  where w\.workflow_id = \(select workflow_id from lease\)\n  for update\n/, to: "  where w.workflow_id = (select workflow_id from lease)\n" }],
    caughtBy: races("last completions"),
  },
  { name: "complete overlooks that it was overtaken", edits: [{ file: "complete", from: "where seen.xmin <> workflow.version", to: "where false" }], caughtBy: races("last completions") },
  { name: "fail does not lock its workflow", edits: [{ file: "fail", from: /\n  for update\n/, to: "\n" }], caughtBy: { test: "tests/faults.test.ts", pattern: "lost updates" } },
  { name: "retry leaves the pickups", edits: [{ file: "retry", from: "pickup_count = 0, ", to: "" }], caughtBy: suite("retry and cancel") },
  { name: "cancel leaves the fencing token", edits: [{ file: "cancel", from: " fencing_token = a.fencing_token + 1,", to: "" }], caughtBy: suite("retry and cancel") },
  { name: "dequeueMany takes what is at the limit: < to <=", edits: [{ file: "dequeue_many", from: "a.pickup_count < ", to: "a.pickup_count <= " }], caughtBy: suite("dequeueMany\\(\\) passes by") },
  { name: "dequeueMany brings one more than its limit", edits: [{ file: "dequeue_many", from: "  limit cast(:max_claims as bigint)\n), head", to: "  limit cast(:max_claims as bigint) + 1\n), head" }], caughtBy: suite("never more than limit") },
  { name: "reap takes what is just as old as the limit: < to <=", edits: [{ file: "reap", from: "< (select limit_at from stamp)", to: "<= (select limit_at from stamp)" }], caughtBy: { test: "tests/strictly_stale.test.ts", pattern: "by 0 microseconds" } },
  { name: "reap takes what is younger than the limit by a millisecond", edits: [{ file: "reap", from: "cast(:stale_after_ms as double precision) *", to: "(cast(:stale_after_ms as double precision) - 1) *" }], caughtBy: { test: "tests/strictly_stale.test.ts", pattern: "strictly stale" } },
  { name: "enqueue takes a key that is open for one it made", edits: [{ file: "enqueue", from: " and key in (select key from made where key is not null)", to: "" }], caughtBy: suite("a key is open makes the others") },
  { name: "enqueue makes both of a key that is twice in the list", edits: [{ file: "enqueue", from: "(key is null or turn = 1 and holder_id is null)", to: "(key is null or holder_id is null)" }, { file: "enqueue", from: "  on conflict (key) where key is not null\n    and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error')\n  do nothing\n", to: "" }], caughtBy: suite("twice in the list") },
  { name: "enqueue compares keys without regard to case", edits: [{ file: "enqueue", from: "a.key = listed.key", to: "lower(a.key) = lower(listed.key)" }], caughtBy: suite("letter by letter") },
  { name: "prune takes what is STUCK or still ACTIVE", edits: [{ file: "prune", from: " and w.status in ('SUCCEEDED', 'FAILED', 'CANCELLED')", to: "" }], caughtBy: suite("prune\\(\\)") },
  { name: "prune takes what has an attempt to do", edits: [{ file: "prune", from: "(a.status in ('pending', 'scheduled', 'in_progress')", to: "(false" }], caughtBy: suite("prune\\(\\) keeps") },
  { name: "prune takes what is STUCK and marked as ended", edits: [{ file: "prune", from: "or a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted' and w.status <> 'CANCELLED'", to: "" }], caughtBy: { test: "tests/other_hands.test.ts", pattern: "whatever somebody marked" } },
  { name: "enqueue does not notice that rows vanish", edits: [{ file: "enqueue", from: "then 'dropped'", to: "then null" }], caughtBy: { test: "tests/other_hands.test.ts", pattern: "rows vanished" } },
  { name: "prune goes by the time of creation", edits: [{ file: "prune", from: " and w.updated_at <= s.limit_at", to: "" }], caughtBy: suite("prune\\(\\) goes by") },
  { name: "prune knows no limit", edits: [{ file: "prune", from: "limit cast(:max_pruned as bigint)", to: "limit cast(:max_pruned as bigint) + 1000" }], caughtBy: suite("prune\\(\\) deletes no more") },
  { name: "prune leaves the attempts", edits: [{ file: "prune", from: "where a.workflow_id = any (array(select workflow_id from old)) returning a.attempt_id", to: "where false returning a.attempt_id" }], caughtBy: suite("prune\\(\\) deletes workflows") },
  { name: "the server acknowledges what is not on the standby", edits: [{ file: "tests/chaos/cluster.ts", from: 'synchronous_commit: "on"', to: 'synchronous_commit: "off"' }], caughtBy: chaos("Postgres", 4_800, ["lost", "completed", "tokens", "held", "pickups"], "immediately", "promoted") },
];

export const postgresMutations: readonly Mutation[] = all.map((mutation) => ({ ...mutation, dialect: "postgres" }));
