// What each role of the README may do with what the README gives it, and no more.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import postgres from "postgres";
import { type Claim, createQueue, type Queue } from "../mod.ts";
import { createDatabase } from "./support/postgres_server.ts";

const URL_GIVEN = process.env["DATABASE_URL"];
const README = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const [, GRANTS = ""] = /### Rights[^]*?```sql\n([^]*?)```/.exec(README) ?? [];
const ROLES = ["producer", "worker", "reaper", "operator", "reader"] as const;
const DENIED = { code: "42501" };

type Role = typeof ROLES[number];

// They share the columns that a claim writes.
const UPDATERS: Role[] = ["worker", "reaper", "operator"];

/** Each operation, on what the owner arranged for it. */
const OPERATIONS: Record<string, { by: Role[]; arrange?: (queue: Queue) => Promise<unknown>; run: (queue: Queue, arranged: never) => Promise<unknown> }> = {
  "enqueue()": { by: ["producer"], run: (queue) => queue.enqueue({ role: "r", payload: 1, delayMs: 1 }) },
  "enqueue() with a key": { by: ["producer"], run: (queue) => queue.enqueue([{ role: "r", key: "k" }, { role: "r", key: "l" }, { role: "r", key: "k" }]) },
  "enqueue() of an open key": {
    by: ["producer"],
    arrange: (queue) => queue.enqueue({ role: "r", key: "open" }),
    run: (queue) => queue.enqueue({ role: "r", key: "open" }),
  },
  "enqueue() onto a workflow": {
    by: ["producer"],
    arrange: (queue) => queue.enqueue({ role: "r" }),
    run: (queue, { workflowId }: { workflowId: string }) => queue.enqueue({ role: "r", workflowId }),
  },
  "dequeue()": { by: UPDATERS, arrange: (queue) => queue.enqueue({ role: "r" }), run: (queue) => queue.dequeue({ roles: ["r"] }) },
  "dequeueMany()": { by: UPDATERS, arrange: (queue) => queue.enqueue({ role: "r" }), run: (queue) => queue.dequeueMany({ roles: ["r"], limit: 2 }) },
  "heartbeat()": { by: UPDATERS, arrange: claimed, run: (queue, claim: Claim) => queue.heartbeat(claim) },
  "complete()": { by: ["worker"], arrange: claimed, run: (queue, claim: Claim) => queue.complete(claim, { next: [{ role: "next", key: "next" }] }) },
  "fail()": { by: ["worker"], arrange: claimed, run: (queue, claim: Claim) => queue.fail(claim, { error: "e", retry: {} }) },
  "fail() for good": { by: ["worker"], arrange: claimed, run: (queue, claim: Claim) => queue.fail(claim) },
  "release()": { by: UPDATERS, arrange: claimed, run: (queue, claim: Claim) => queue.release(claim) },
  "reap()": { by: ["reaper"], arrange: broken, run: (queue) => queue.reap() },
  "reap() at the limit": { by: ["reaper"], arrange: broken, run: (queue) => queue.reap({ maxPickups: 1 }) },
  "retry()": {
    by: ["reaper", "operator"],
    arrange: async (queue) => {
      const claim = await broken(queue);
      await queue.reap({ maxPickups: 1 });
      return claim;
    },
    run: (queue, { workflowId }: Claim) => queue.retry(workflowId),
  },
  "cancel()": { by: UPDATERS, arrange: claimed, run: (queue, { workflowId }: Claim) => queue.cancel(workflowId) },
  "prune()": { by: ["operator"], run: (queue) => queue.prune({ olderThanMs: 0 }) },
  "stats()": { by: ["worker", "reaper", "operator", "reader"], run: (queue) => queue.stats() },
  "migrate() with nothing to do": { by: [...ROLES], run: (queue) => queue.migrate() },
};

describe("postgres.js · rights", { skip: URL_GIVEN === undefined && "no DATABASE_URL" }, () => {
  const suffix = `_${randomUUID().slice(0, 8)}`;
  const as = {} as Record<Role | "owner" | "stranger", { sql: postgres.Sql; queue: Queue }>;
  const ends: (() => Promise<unknown>)[] = [];

  before(async () => {
    const { url, name, drop } = await createDatabase(String(URL_GIVEN));
    const admin = postgres(url, { max: 1, onnotice() {} });
    const roles = [...ROLES, "owner", "stranger"] as const;
    for (const role of roles) await admin.unsafe(`create role ${role}${suffix} login`);
    // As the table of the README says: may create schemas in the database.
    await admin.unsafe(`grant create on database "${name}" to owner${suffix}`);
    for (const role of roles) {
      const sql = postgres(url, { max: 2, username: role + suffix, onnotice() {} });
      as[role] = { sql, queue: createQueue(sql, { schema: "queue", instanceId: role }) };
    }
    await as.owner.queue.migrate();
    await as.owner.sql.unsafe(GRANTS.replaceAll(new RegExp(`\\b(${ROLES.join("|")})\\b(?=[,;])`, "g"), `$1${suffix}`));
    ends.push(...Object.values(as).map(({ sql }) => () => sql.end({ timeout: 1 })), drop, async () => {
      const server = postgres(String(URL_GIVEN), { max: 1 });
      for (const role of roles) await server.unsafe(`drop role ${role}${suffix}`);
      await server.end();
    }, () => admin.end({ timeout: 1 }));
  });
  after(async () => {
    for (const end of ends.splice(0, ends.length)) await end();
  });

  test("are given in the README, for each role", () => {
    for (const role of ROLES) assert.match(GRANTS, new RegExp(`to [^;]*\\b${role}\\b`));
  });

  for (const [name, { by, arrange, run }] of Object.entries(OPERATIONS)) {
    test(`${name}: by ${by.join(", ")}, and nobody else`, async () => {
      for (const role of [...ROLES, "stranger"] as const) {
        const arranged = await arrange?.(as.owner.queue);
        const done = run(as[role].queue, arranged as never);
        if (by.includes(role as Role)) await done;
        else await assert.rejects(done, DENIED, role);
        await as.owner.sql.unsafe("delete from queue.workflow_attempts; delete from queue.workflows");
      }
    });
  }

  test("a producer, of whatever mind, can fill the queue, jump it, hold keys, and mark workflows", async () => {
    const { sql, queue } = as.producer;
    const other = await as.owner.queue.enqueue({ role: "r", payload: { secret: 1 } });
    await queue.enqueue(Array.from({ length: 5_000 }, () => ({ role: "r", priority: -(2 ** 31), key: randomUUID() })));
    await sql`insert into queue.workflow_attempts (workflow_id, role, status, payload) values (1, 'r', 'no status', '{"not": "asked"}')`;
    await sql`update queue.workflows set status = 'CANCELLED' where workflow_id = ${other.workflowId}`;
    const first = await as.owner.queue.dequeue({ roles: ["r"] });
    assert.ok(first.acquired && first.attemptId !== other.attemptId);
    // Workers work on all the same: a claim looks at attempts only.
    const rest = await as.owner.queue.dequeueMany({ roles: ["r"], limit: 10_000 });
    assert.ok(rest.some(({ attemptId }) => attemptId === other.attemptId));
    await as.owner.sql.unsafe("delete from queue.workflow_attempts; delete from queue.workflows");
  });

  test("a producer, of whatever mind, cannot read work, touch what is queued, forge a lease, or change the tables", async () => {
    await as.owner.queue.enqueue({ role: "r", payload: { secret: 1 } });
    const denied = [
      "select payload from queue.workflow_attempts", "select * from queue.workflow_attempts", "select error, result from queue.workflow_attempts",
      "update queue.workflow_attempts set status = 'succeeded'", "delete from queue.workflow_attempts", "truncate queue.workflow_attempts",
      "select attempt_id from queue.workflow_attempts for update", "do $$ begin lock table queue.workflow_attempts in access share mode; end $$",
      "insert into queue.workflow_attempts (workflow_id, role, locked_by_instance, fencing_token) values (1, 'r', 'worker', 99)",
      "insert into queue.workflow_attempts (workflow_id, role, pickup_count) values (1, 'r', -1000)",
      "insert into queue.workflow_attempts (attempt_id, workflow_id, role) values (9223372036854775807, 1, 'r')",
      "insert into queue.workflows (workflow_id, stuck_reason) values (7, 'x')", "delete from queue.workflows",
      "update queue.workflows set workflow_id = 1", "update queue.workflows set created_at = now()",
      "select setval('queue.workflows_workflow_id_seq', 9223372036854775807)",
      "select nextval('queue.workflow_attempts_attempt_id_seq')",
      "insert into queue.skiplocked_schema (version) values (99)", "alter table queue.workflow_attempts add column x int",
      "create trigger t before insert on queue.workflow_attempts for each row execute function suppress_redundant_updates_trigger()",
      "create function queue.clock_timestamp() returns timestamptz language sql as 'select now()'", "drop index queue.workflow_attempts_pending",
    ];
    for (const statement of denied) await assert.rejects(as.producer.sql.unsafe(statement), DENIED, statement);
    await as.owner.sql.unsafe("delete from queue.workflow_attempts; delete from queue.workflows");
  });

  test("a producer, of whatever mind, cannot stop others from enqueuing by numbers that are still to come", async () => {
    const last = Number((await as.producer.queue.enqueue({ role: "r" })).workflowId);
    await as.producer.sql`insert into queue.workflow_attempts (workflow_id, role) values (${last + 400_000}, 'ahead')`;
    assert.equal((await as.producer.queue.enqueue({ role: "r" })).workflowId, String(last + 1));
    await as.owner.sql`update queue.workflow_attempts set status = 'in_progress', pickup_count = 2, locked_at = '2020-01-01' where role = 'ahead'`;
    assert.equal((await as.reaper.queue.reap()).stuck.length, 1, "a reaper needs no more rights for the workflow that had no row");
    await as.producer.sql`insert into queue.workflows (workflow_id) select ${last}::bigint + i from generate_series(2, 100) as i`;
    await assert.rejects(as.producer.queue.enqueue({ role: "r" }), { code: "23505" });
    const { workflowId } = await as.owner.queue.enqueue({ role: "r" });
    assert.equal(workflowId, String(last + 400_001), "who may set the sequence passes by all of them");
    assert.equal((await as.producer.queue.enqueue({ role: "r" })).workflowId, String(last + 400_002));
    await as.owner.sql.unsafe("delete from queue.workflow_attempts; delete from queue.workflows");
  });

  test("beside another program that numbers its own workflows the sequence needs update as well", async () => {
    const { workflowId: last } = await as.owner.queue.enqueue({ role: "r" });
    const theirs = String(Number(last) + 1_000);
    await as.owner.sql`insert into queue.workflow_attempts (workflow_id, role) values (${theirs}, 'theirs')`;
    await as.owner.sql.unsafe(`grant update on sequence queue.workflows_workflow_id_seq to producer${suffix}`);
    assert.equal((await as.producer.queue.enqueue({ role: "r" })).workflowId, String(Number(theirs) + 1));
    const { attemptId } = await as.owner.queue.enqueue({ role: "r" });
    await as.owner.sql`insert into queue.workflow_attempts (attempt_id, workflow_id, role) values (${Number(attemptId) + 50}, 1, 'theirs')`;
    for (const right of ["update", "usage"]) {
      await as.owner.sql.unsafe(`grant ${right} on sequence queue.workflow_attempts_attempt_id_seq to producer${suffix}`);
      const { attemptId: next } = await as.producer.queue.enqueue({ role: "r" });
      assert.equal(next, String(Number(attemptId) + (right === "usage" ? 51 : 1)), right);
    }
  });
});

async function claimed(queue: Queue): Promise<Claim> {
  await queue.enqueue({ role: "claimed" });
  const claim = await queue.dequeue({ roles: ["claimed"] });
  assert.ok(claim.acquired);
  return claim;
}

/** An attempt whose worker broke: what reap takes at once. */
async function broken(queue: Queue): Promise<Claim> {
  const claim = await claimed(queue);
  await queue.fail(claim, { outcome: "worker-internal-error" });
  return claim;
}
