// What triggers, other programs and hands at the tables can do to the queue's own operations.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Claim } from "../mod.ts";
import { mainBackends, type Opened } from "./support/backends.ts";

const HOUR = 3_600_000;
const AHEAD = 5_000;

for (const backend of mainBackends) {
  const isPostgres = backend.dialect === "postgres";
  const open = async () => {
    const opened = await backend.open();
    const queue = opened.queue({ instanceId: "me" });
    await queue.migrate();
    return { opened, queue, sql: opened.sql };
  };

  describe(`${backend.name} · other hands`, () => {
    test("enqueue() says that rows vanished, once, whatever was asked", { timeout: 60_000 }, async () => {
      const { opened, queue, sql } = await open();
      await dropDenied(opened);
      const [denied, kept] = [{ role: "denied" }, { role: "kept" }];
      for (const list of [[denied], [denied, kept], [kept, denied], [kept, denied, kept]]) {
        await assert.rejects(queue.enqueue(list), { code: "schema_conflict" });
      }
      for (const item of [denied, { ...denied, key: "a" }]) await assert.rejects(queue.enqueue(item), { code: "schema_conflict" });
      const { attemptId } = await queue.enqueue({ ...kept, key: "b" });
      assert.deepEqual(await sql("select cast(attempt_id as text) as id from workflow_attempts where key is not null"), [{ id: attemptId }]);
    });

    test("an error of a trigger passes through, and nothing is left open", { timeout: 60_000 }, async () => {
      const { queue, sql } = await open();
      const { workflowId } = await queue.enqueue({ role: "r" });
      await failOnCancel(sql, isPostgres);
      for (const _ of [1, 2, 3, 4, 5]) await assert.rejects(queue.cancel(workflowId), /no cancelling/);
      assert.equal((await queue.stats()).roles[0]?.pending, 1);
      await queue.complete(await queue.dequeue({ roles: ["r"] }) as Claim);
    });

    test("prune() keeps what is STUCK, whatever somebody marked it with", async () => {
      const { opened, queue, sql } = await open();
      const { workflowId: stuck, attemptId } = await queue.enqueue({ role: "r" });
      for (const _ of [1, 2, 3]) {
        await queue.dequeue({ roles: ["r"] });
        await opened.age(attemptId, HOUR);
        await queue.reap();
      }
      await queue.enqueue({ role: "named" });
      await queue.complete(await queue.dequeue({ roles: ["named"] }) as Claim, { outcome: "attempt-pickup-exhausted" });
      const longAgo = "2000-01-01 00:00:00.000";
      for (const status of ["SUCCEEDED", "FAILED"]) {
        await sql(`update workflows set status = '${status}', created_at = '${longAgo}', updated_at = '${longAgo}'`);
        const expected = status === "SUCCEEDED" ? 1 : 0;
        assert.deepEqual(await queue.prune({ olderThanMs: HOUR }), { workflows: expected, attempts: expected }, "only what ended by that name");
      }
      await sql("update workflows set status = 'STUCK'");
      await queue.cancel(stuck);
      await sql(`update workflows set updated_at = '${longAgo}'`);
      assert.deepEqual(await queue.prune({ olderThanMs: HOUR }), { workflows: 1, attempts: 1 });
    });

    test("attempts and workflows that another program numbered ahead are passed by", async () => {
      const { queue, sql } = await open();
      await queue.enqueue({ role: "r" });
      for (const n of [1, 2, 3]) await sql(`insert into workflow_attempts (attempt_id, workflow_id, role) values (${n * AHEAD}, ${n}, 'theirs')`);
      await sql(`insert into workflows (workflow_id) values (${AHEAD})`);
      const { attemptId, workflowId } = await queue.enqueue({ role: "r" });
      assert.deepEqual([attemptId, workflowId], [String(3 * AHEAD + 1), String(AHEAD + 1)]);
      await sql(`insert into workflow_attempts (attempt_id, workflow_id, role) values (${3 * AHEAD + 2}, 1, 'theirs')`);
      const claim = await queue.dequeue({ roles: ["r"] }) as Claim;
      await queue.complete(claim, { next: [{ role: "next" }] });
      const again = await queue.dequeue({ roles: ["r"] }) as Claim;
      await queue.fail(again, { retry: {} });
      assert.equal((await queue.stats()).roles.find(({ role }) => role === "next")?.pending, 1);
    });

    test("a workflow at the end of the numbers ends no enqueuing", async () => {
      const { opened, queue, sql } = await open();
      for (const last of ["9223372036854775806", "9223372036854775807"]) {
        await sql(`insert into workflow_attempts (workflow_id, role, pickup_count) values (${last}, 'theirs', 2)`);
        const claim = await queue.dequeue({ roles: ["theirs"] }) as Claim;
        await opened.age(claim.attemptId, HOUR);
        assert.equal((await queue.reap()).stuck[0]?.workflowId, last);
        assert.match((await queue.enqueue({ role: "r" })).workflowId, /^\d$/);
      }
    });

    test("a pickup count at its end is no error, and times without an end are nothing to reckon with", async () => {
      const { queue, sql } = await open();
      await queue.enqueue([{ role: "r" }, { role: "r" }]);
      const claims = await queue.dequeueMany({ roles: ["r"], limit: 2 });
      await sql(`update workflow_attempts set pickup_count = 2147483647, lock_heartbeat_at = '2000-01-01 00:00:00.000' where attempt_id = ${claims[0]?.attemptId}`);
      assert.equal((await queue.reap()).stuck.length, 1);
      if (!isPostgres) return;
      await sql(`update workflow_attempts set lock_heartbeat_at = 'infinity', created_at = '-infinity'`);
      await queue.enqueue([{ role: "r" }, { role: "r" }]);
      await sql(`update workflow_attempts set created_at = 'infinity' where status = 'pending'`);
      assert.deepEqual((await queue.stats()).roles.map(({ oldestPendingMs, oldestHeartbeatMs }) => [oldestPendingMs, oldestHeartbeatMs]), [[null, null]]);
      assert.equal((await queue.dequeueMany({ roles: ["r"], limit: 5 })).length, 2);
    });

    test("what the caller changes in its list while enqueue() runs changes nothing", async () => {
      const { queue, sql } = await open();
      const item = { role: "r", key: "first" };
      const [one, two] = [queue.enqueue([item, { role: "r", key: "second" }]), queue.enqueue([{ role: "r", key: "first" }, item])];
      item.key = "other";
      await Promise.all([one, two]);
      assert.deepEqual((await sql("select key from workflow_attempts order by key")).map(({ key }) => key), ["first", "second"]);
    });
  });
}

async function dropDenied({ queue, sql }: Opened): Promise<void> {
  if (queue().dialect === "sqlite") {
    await sql("create trigger denied before insert on workflow_attempts when new.role = 'denied' begin select raise(ignore); end");
    return;
  }
  await sql(`create function denied() returns trigger language plpgsql as
    'begin if new.role = ''denied'' then return null; end if; return new; end'`);
  await sql("create trigger denied before insert on workflow_attempts for each row execute function denied()");
}

/** With an SQLSTATE that looks like an error of a socket. */
async function failOnCancel(sql: Opened["sql"], isPostgres: boolean): Promise<void> {
  const when = "on workflows";
  if (!isPostgres) {
    await sql(`create trigger refusing before update ${when} when new.status = 'CANCELLED' begin select raise(abort, 'no cancelling'); end`);
    return;
  }
  await sql(`create function refusing() returns trigger language plpgsql as
    'begin if new.status = ''CANCELLED'' then raise exception ''no cancelling'' using errcode = ''EPERM''; end if; return new; end'`);
  await sql(`create trigger refusing before update ${when} for each row execute function refusing()`);
}
