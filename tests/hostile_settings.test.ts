// Settings of a server that the suite cannot run under, and a short look at those that the matrix runs it under.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { createQueue, type Queue } from "../mod.ts";
import { open } from "./support/connections/open.ts";
import { createDatabase } from "./support/postgres_server.ts";
import { test as testThatCloses } from "./support/testing.ts";

const URL_GIVEN = process.env["DATABASE_URL"];
const EVERY_DAY = [
  "repeatable read", "serializable", "times as in Kathmandu", "no search_path", "search_path with shadows",
  "search_path with shadows before pg_catalog", "strings as of old", "quirks", "every planner switch off", "generic plans",
];

describe("postgres.js · hostile settings", { skip: URL_GIVEN === undefined && "no DATABASE_URL" }, () => {
  for (const name of EVERY_DAY) {
    testThatCloses(`a life of an attempt: ${name}`, async () => {
      const opened = await open[`postgres.js, ${name}`]!(false);
      const queue = opened.queue();
      assert.deepEqual(await queue.migrate(), { from: 0, to: 1 });
      assert.deepEqual(await queue.migrate(), { from: 1, to: 1 });
      await live(queue);
      const { workflowId, attemptId } = await queue.enqueue({ role: "silent", key: "k" });
      await queue.dequeue({ roles: ["silent"] });
      await opened.age(attemptId, 3_600_000);
      assert.equal((await queue.reap({ maxPickups: 1 })).stuck.length, 1);
      await queue.retry(workflowId);
      await queue.cancel(workflowId);
      assert.deepEqual(await queue.prune({ olderThanMs: 0 }), { workflows: 3, attempts: 4 });
    });
  }

  test("where nothing may be written: the driver's error with its SQLSTATE, and nothing to migrate is no error", async () => {
    const { sql, admin, role } = await underRole({ default_transaction_read_only: "on" });
    const queue = createQueue(sql);
    await assert.rejects(queue.migrate(), { code: "25006" });
    await createQueue(admin).migrate();
    assert.deepEqual(await queue.migrate(), { from: 1, to: 1 });
    assert.deepEqual(await queue.stats(), { roles: [], stuck: 0 });
    const lease = { attemptId: 1, instanceId: "me", fencingToken: 1 };
    const writers = [
      () => queue.enqueue({ role: "r" }), () => queue.dequeue({ roles: ["r"] }), () => queue.dequeueMany({ roles: ["r"], limit: 1 }),
      () => queue.heartbeat(lease), () => queue.complete(lease), () => queue.fail(lease), () => queue.release(lease), () => queue.reap(),
      () => queue.retry(1), () => queue.cancel(1), () => queue.prune({ olderThanMs: 0 }),
    ];
    for (const write of writers) {
      await assert.rejects(write(), (error: { name: string; code: string }) => error.code === "25006" && error.name !== "SkiplockedError");
    }
    // As when a standby becomes the primary: the same pool goes on once its sessions are gone.
    await admin.unsafe(`alter role ${role} reset default_transaction_read_only;
      select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
    await eventually(() => live(queue));
  });

  test("timeouts that strike while others hold a lock: told with the SQLSTATE, nothing is lost, and it goes on", async () => {
    const { sql, admin } = await underRole({ statement_timeout: "200ms", lock_timeout: "100ms", idle_in_transaction_session_timeout: "500ms" });
    const queue = createQueue(sql);
    await queue.migrate();
    const { attemptId } = await queue.enqueue({ role: "r" });
    await admin.begin(async (other) => {
      await other.unsafe("lock table workflow_attempts in access exclusive mode");
      for (const refused of [() => queue.dequeue({ roles: ["r"] }), () => queue.enqueue([{ role: "r", key: "a" }, { role: "r", key: "b" }])]) {
        await assert.rejects(refused(), ({ code }: { code: string }) => ["55P03", "57014"].includes(code));
      }
    });
    const claim = await queue.dequeue({ roles: ["r"] });
    assert.equal(claim.acquired && claim.attemptId, attemptId);
    // While a handler works no transaction of the library's is open that the server could end.
    await sleep(800);
    const [idle] = await admin.unsafe("select cast(count(*) as int) as sessions from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()");
    assert.equal(idle?.["sessions"], 0);
    if (claim.acquired) await queue.complete(claim);
    assert.deepEqual((await queue.stats()).roles.map(({ pending, succeeded }) => [pending, succeeded]), [[0, 1]]);
  });
});

/** A role of its own, owner of a database of its own. */
async function underRole(settings: Record<string, string>): Promise<{ sql: postgres.Sql; admin: postgres.Sql; role: string }> {
  const { url, name, drop } = await createDatabase(String(URL_GIVEN));
  const role = `skiplocked_${randomUUID().slice(0, 8)}`;
  const admin = postgres(url, { max: 2, onnotice() {} });
  await admin.unsafe(`create role ${role} login; alter database "${name}" owner to ${role}; grant all on schema public to ${role}`);
  for (const [setting, value] of Object.entries(settings)) await admin.unsafe(`alter role ${role} set ${setting} = '${value}'`);
  await admin.unsafe(`alter default privileges in schema public grant all on tables to ${role};
    alter default privileges in schema public grant all on sequences to ${role}`);
  const sql = postgres(url, { max: 2, username: role, onnotice() {} });
  after(async () => {
    await sql.end({ timeout: 1 });
    await admin.end({ timeout: 1 });
    await drop();
    const server = postgres(String(URL_GIVEN), { max: 1 });
    await server.unsafe(`drop role ${role}`).finally(() => server.end());
  });
  return { sql, admin, role };
}

/** Enqueues two, claims both, keeps and completes them. */
async function live(queue: Queue): Promise<void> {
  await queue.enqueue([{ role: "builder", key: "a", payload: { n: 1.5 } }, { role: "builder", delayMs: 0 }]);
  await queue.reap();
  const claims = await queue.dequeueMany({ roles: ["builder"], limit: 2 });
  assert.deepEqual(claims.map(({ payload }) => payload), [{ n: 1.5 }, null]);
  assert.deepEqual(await queue.heartbeat(claims), [{ held: true }, { held: true }]);
  await queue.complete(claims[0]!, { outcome: "built" });
  await queue.release(claims[1]!);
  const again = await queue.dequeue({ roles: ["builder"] });
  assert.ok(again.acquired);
  await queue.fail(again, { error: new Error("broken"), retry: { delayMs: 0 } });
  await queue.reap();
  const retried = await queue.dequeue({ roles: ["builder"] });
  assert.ok(retried.acquired && retried.attemptNumber === 2);
  await queue.complete(retried);
  assert.equal((await queue.stats()).roles[0]?.succeeded, 2);
}

async function eventually(happens: () => Promise<unknown>): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      return void await happens();
    } catch (error) {
      if (tries === 20) throw error;
      await sleep(50);
    }
  }
}
