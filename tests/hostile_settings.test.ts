// Settings of a server that the suite cannot run under, and a short look at those that the matrix runs it under.
import assert from "node:assert/strict";
import process from "node:process";
import { describe } from "node:test";
import { createQueue } from "../mod.ts";
import { open } from "./support/connections/open.ts";
import { type RoleOfItsOwn, roleOfItsOwn } from "./support/connections/role_of_its_own.ts";
import { eventually } from "./support/eventually.ts";
import { LEFT_BY_LIFE, live } from "./support/life.ts";
import { atEnd, test } from "./support/testing.ts";

const URL_GIVEN = process.env["DATABASE_URL"];
const EVERY_DAY = [
  "repeatable read", "serializable", "times as in Kathmandu", "no search_path", "search_path with shadows",
  "search_path with shadows before pg_catalog", "strings as of old", "nulls and names as of old", "every planner switch off", "generic plans",
];

describe("postgres.js · hostile settings", { skip: URL_GIVEN === undefined && "no DATABASE_URL" }, () => {
  for (const name of EVERY_DAY) {
    test(`a life of an attempt: ${name}`, async () => {
      const opened = await open[`postgres.js, ${name}`]!(false);
      const queue = opened.queue();
      assert.deepEqual(await queue.migrate(), { from: 0, to: 1 });
      await live(queue);
      const { workflowId, attemptId } = await queue.enqueue({ role: "silent", key: "k" });
      await queue.dequeue({ roles: ["silent"] });
      await opened.age(attemptId, 3_600_000);
      assert.equal((await queue.reap({ maxPickups: 1 })).stuck.length, 1);
      await queue.retry(workflowId);
      await queue.cancel(workflowId);
      const { workflows, attempts } = LEFT_BY_LIFE;
      assert.deepEqual(await queue.prune({ olderThanMs: 0 }), { workflows: workflows + 1, attempts: attempts + 1 });
    });
  }

  test("where nothing may be written: the driver's error with its SQLSTATE, and nothing to migrate is no error", async () => {
    const { connect, admin, role } = await underRole({ default_transaction_read_only: "on" });
    const queue = createQueue(connect(2));
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
    await eventually(async () => assert.deepEqual([...await admin.unsafe(`select from pg_stat_activity where usename = '${role}'`)], []));
    // Both connections of the pool: each may have to find out.
    await eventually(() => Promise.all([queue.stats(), queue.stats()]));
    await live(queue);
  });

  // Short ones for what meets the lock, and far longer than anything else takes.
  const timeouts = { lock_timeout: ["1s", "55P03"], statement_timeout: ["3s", "57014"] } as const;
  for (const [name, [limit, code]] of Object.entries(timeouts)) {
    test(`${name} that strikes while others hold a lock: told with the SQLSTATE, nothing is lost, and it goes on`, async () => {
      const { connect, admin } = await underRole({ [name]: limit });
      await createQueue(admin).migrate();
      const queue = createQueue(connect(2));
      const { attemptId } = await queue.enqueue({ role: "r" });
      await admin.begin(async (other) => {
        await other.unsafe("lock table workflow_attempts in access exclusive mode");
        await Promise.all([
          assert.rejects(queue.dequeue({ roles: ["r"] }), { code }),
          assert.rejects(queue.enqueue([{ role: "r", key: "a" }, { role: "r", key: "b" }]), { code }),
        ]);
      });
      const claim = await queue.dequeue({ roles: ["r"] });
      assert.ok(claim.acquired && claim.attemptId === attemptId);
      await queue.complete(claim);
      assert.deepEqual((await queue.stats()).roles.map(({ pending, succeeded }) => [pending, succeeded]), [[0, 1]]);
    });
  }

  test("idle_in_transaction_session_timeout has nothing to end: no transaction is open between calls", async () => {
    const { connect, admin, role } = await underRole({ idle_in_transaction_session_timeout: "2s" });
    await createQueue(admin).migrate();
    const queue = createQueue(connect(2));
    const between = async () => assert.deepEqual(
      [...await admin.unsafe(`select state, query from pg_stat_activity where usename = '${role}' and xact_start is not null`)], []);
    await queue.enqueue([{ role: "r", key: "a" }, { role: "r", key: "b" }]);
    await between();
    const claims = await queue.dequeueMany({ roles: ["r"], limit: 2 });
    await between();
    await queue.heartbeat(claims);
    await between();
    await queue.complete(claims[0]!, { next: [{ role: "r" }] });
    await queue.cancel(claims[1]!.workflowId);
    await between();
    await assert.rejects(queue.enqueue([{ role: "r", key: "c" }, { role: "r", workflowId: 4711 }]), { code: "not_found" });
    await between();
  });
});

/** A role with these settings, owner of a database of its own. */
async function underRole(settings: Record<string, string>): Promise<RoleOfItsOwn> {
  const given = await roleOfItsOwn(String(URL_GIVEN), "");
  atEnd(given.close);
  const { admin, role } = given;
  await admin.unsafe(`grant all on schema public to ${role}`);
  for (const [setting, value] of Object.entries(settings)) await admin.unsafe(`alter role ${role} set ${setting} = '${value}'`);
  await admin.unsafe(`alter default privileges in schema public grant all on tables to ${role};
    alter default privileges in schema public grant all on sequences to ${role}`);
  return given;
}
