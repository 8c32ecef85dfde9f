// The program that was there first. It knows eleven columns and two statuses, has no idea of fencing tokens, and goes on
// working on the same rows.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Claim } from "../mod.ts";
import { TIMES } from "./model/arena.ts";
import { mainBackends, type BackendUnderTest, type Opened } from "./support/backends.ts";
import { test } from "./support/testing.ts";

const STALE_MS = 60_000;
const NAME = "older/1";
const COLUMNS = "attempt_id, workflow_id, role, tier, status, pickup_count, locked_by_instance, locked_at, lock_heartbeat_at, started_at, created_at";

// As such programs declare them.
const TABLES = {
  postgres: [
    `attempt_id bigserial primary key, workflow_id bigint not null, role text not null, tier integer, status text not null default 'pending',
     pickup_count integer not null default 0, locked_by_instance text, locked_at timestamptz, lock_heartbeat_at timestamptz,
     started_at timestamptz, created_at timestamptz not null default now()`,
    `attempt_id integer generated always as identity primary key, workflow_id integer, role varchar(100), tier smallint, status varchar(20),
     pickup_count bigint, locked_by_instance varchar(255), locked_at timestamptz, lock_heartbeat_at timestamptz,
     started_at timestamptz, created_at timestamptz`,
  ],
  sqlite: [
    `attempt_id integer primary key autoincrement, workflow_id integer not null, role text not null, tier integer, status text not null default 'pending',
     pickup_count integer not null default 0, locked_by_instance text, locked_at timestamp, lock_heartbeat_at timestamp,
     started_at timestamp, created_at timestamp not null default current_timestamp`,
    `attempt_id integer primary key, workflow_id integer, role varchar(100), tier integer, status varchar(20),
     pickup_count integer, locked_by_instance varchar(255), locked_at datetime, lock_heartbeat_at datetime,
     started_at datetime, created_at datetime`,
  ],
};

for (const backend of mainBackends) {
  describe(`${backend.name} · older program`, () => {
    for (const [place, columns] of TABLES[backend.dialect].entries()) {
      test(`keeps its table and all rows in it (${place + 1})`, async () => {
        const opened = await backend.open();
        await opened.sql(`create table workflow_attempts (${columns})`);
        await insert(opened, { workflow_id: 40, role: "builder", tier: 2 });
        await insert(opened, { workflow_id: 40, role: "builder" });
        await insert(opened, { workflow_id: 41, role: "mailer", status: "in_progress", pickup_count: 1, locked_by_instance: NAME });
        const before = await opened.sql(`select ${COLUMNS} from workflow_attempts order by attempt_id`);

        const queue = opened.queue();
        assert.deepEqual(await queue.migrate(), { from: 0, to: 1 });
        assert.deepEqual(await queue.migrate(), { from: 1, to: 1 });
        assert.deepEqual(await opened.sql(`select ${COLUMNS} from workflow_attempts order by attempt_id`), before);
        const [ours] = await opened.sql("select priority, outcome, payload, key, attempt_number, fencing_token, run_at from workflow_attempts");
        assert.deepEqual({ ...ours, fencing_token: Number(ours!.fencing_token) }, {
          priority: 0, outcome: null, payload: null, key: null, attempt_number: 1, fencing_token: 0, run_at: null,
        });

        const claims = await queue.dequeueMany({ roles: ["builder"], limit: 5 });
        assert.deepEqual(claims.map(({ workflowId, tier }) => [workflowId, tier]), [["40", 2], ["40", null]]);
        const { workflowId, attemptId } = await queue.enqueue({ role: "builder" });
        assert.ok(Number(workflowId) > 41 && Number(attemptId) > 3);
        for (const claim of claims) await queue.complete(claim);
      });
    }

    if (backend.dialect === "postgres") test("its varchar becomes text, for which no operator on the search_path is called", async () => {
      const opened = await backend.open();
      await opened.sql(`create table workflow_attempts (${TABLES.postgres[1]}); create table called (what text)`);
      await insert(opened, { workflow_id: 7, role: "builder" });
      const queue = opened.queue();
      await queue.migrate();
      const evil = `evil_${opened.schema!.replaceAll(/\W/g, "")}`;
      await opened.sql(`create schema ${evil}`);
      for (const [place, [left, right]] of [["varchar", "varchar"], ["varchar", "text"], ["text", "varchar"]].entries()) {
        await opened.sql(`create function ${evil}.f${place} (a ${left}, b ${right}) returns boolean language plpgsql as
          $$ begin raise exception 'somebody else''s operator'; end $$`);
        await opened.sql(`create operator ${evil}.= (leftarg = ${left}, rightarg = ${right}, function = ${evil}.f${place})`);
      }
      try {
        await opened.transaction(async (transaction) => {
          await (transaction as unknown as { unsafe(text: string): Promise<unknown> }).unsafe(`set local search_path = "${opened.schema}", ${evil}`);
          const within = queue.using(transaction);
          await within.enqueue([{ role: "builder", key: "k" }, { role: "builder" }, { role: "builder" }]);
          assert.equal((await within.enqueue({ role: "builder", key: "k" })).created, false);
          const [one, two, three, four] = await within.dequeueMany({ roles: ["builder"], limit: 4 }) as [Claim, Claim, Claim, Claim];
          assert.deepEqual(await within.heartbeat(one), { held: true });
          await within.complete(one, { next: [{ role: "mailer" }] });
          await within.fail(two, { retry: {} });
          await within.release(three);
          assert.ok((await within.dequeue({ roles: ["builder"] })).acquired);
          await within.reap({ staleAfterMs: 0 });
          await within.cancel(four.workflowId);
          await within.stats();
          await within.prune({ olderThanMs: 0 });
        });
      } finally {
        await opened.sql(`drop schema ${evil} cascade`);
      }
    });

    if (backend.dialect === "postgres") test("a varchar on which a view of its depends is refused, with what to do", async () => {
      const opened = await backend.open();
      await opened.sql(`create table workflow_attempts (${TABLES.postgres[1]}); create view open_roles as select role from workflow_attempts`);
      await assert.rejects(opened.queue().migrate(), { code: "schema_conflict", message: /workflow_attempts\.role cannot become text .*view.*[Dd]rop what depends/ });
      await opened.sql("drop view open_roles");
      await opened.queue().migrate();
    });

    test("its rows, inserted with only its columns, are claimed and finished without a workflow's row", async () => {
      const { opened, queue } = await shared(backend);
      await insert(opened, { workflow_id: 7, role: "builder", tier: 3 });
      await insert(opened, { workflow_id: 7, role: "builder" });
      await insert(opened, { attempt_id: 900, workflow_id: 8, role: "builder" });
      const claims = await queue.dequeueMany({ roles: ["builder"], limit: 5 });
      assert.deepEqual(claims.map(({ workflowId, tier, payload }) => [workflowId, tier, payload]), [["7", 3, null], ["7", null, null], ["8", null, null]]);
      const [one, two, three] = claims as [Claim, Claim, Claim];
      assert.deepEqual(await queue.heartbeat(claims), [{ held: true }, { held: true }, { held: true }]);
      await queue.complete(one, { next: [{ role: "mailer" }] });
      await queue.fail(two, { retry: {} });
      await queue.release(three);
      assert.deepEqual((await queue.dequeueMany({ roles: ["builder", "mailer"], limit: 5 })).map(({ workflowId }) => workflowId).sort(), ["7", "7", "8"]);
    });

    test("its silent claims are reaped like any other, and at the limit the workflow gets its row", async () => {
      const { opened, queue } = await shared(backend);
      await insert(opened, { workflow_id: 7, role: "builder" });
      for (const pickupCount of [1, 2, 3]) {
        const attemptId = await claimAsOlder(opened, "builder");
        assert.deepEqual(await queue.reap({ staleAfterMs: STALE_MS }), { requeued: [], stuck: [] });
        await opened.age(attemptId!, STALE_MS * 2);
        const { requeued, stuck } = await queue.reap({ staleAfterMs: STALE_MS });
        assert.deepEqual([...requeued, ...stuck], [{ attemptId, workflowId: "7", role: "builder", pickupCount, previousInstanceId: NAME }]);
        assert.equal(stuck.length, pickupCount === 3 ? 1 : 0);
      }
      const workflows = () => opened.sql("select workflow_id, status, stuck_reason from workflows");
      assert.deepEqual((await workflows()).map((row) => Object.values(row).map(String)), [["7", "STUCK", "attempt-pickup-exhausted"]]);
      await queue.retry("7");
      await queue.complete(await queue.dequeue({ roles: ["builder"] }) as Claim);
      assert.deepEqual((await workflows()).map(({ status }) => status), ["SUCCEEDED"]);
    });

    test("our lease does not survive its claim of the same attempt", async () => {
      const { opened, queue } = await shared(backend);
      await insert(opened, { workflow_id: 7, role: "builder" });
      const claim = await queue.dequeue({ roles: ["builder"], instanceId: NAME }) as Claim;
      await opened.age(claim.attemptId, STALE_MS * 2);
      await queue.reap({ staleAfterMs: STALE_MS });
      assert.equal(await claimAsOlder(opened, "builder"), claim.attemptId);
      assert.deepEqual(await queue.heartbeat(claim), { held: false });
      await assert.rejects(queue.complete(claim), { code: "lease_lost" });
    });

    test("a pending attempt that it pushed to the limit is refused, then STUCK", async () => {
      const { opened, queue } = await shared(backend);
      await insert(opened, { workflow_id: 7, role: "builder", pickup_count: 3 });
      assert.deepEqual(await queue.dequeue({ roles: ["builder"] }), { acquired: false, reason: "pickup_limit_exceeded" });
      const { stuck } = await queue.reap();
      assert.deepEqual(stuck.map(({ workflowId, pickupCount, previousInstanceId }) => [workflowId, pickupCount, previousInstanceId]), [["7", 3, null]]);
    });

    // On Postgres it is not null, also where we took its table over.
    if (backend.dialect === "sqlite") test("rows without a created_at come first, in batches as one by one", async () => {
      for (const limit of [1, 2, 4]) {
        const opened = await backend.open();
        await opened.sql(`create table workflow_attempts (${TABLES.sqlite[1]})`);
        const queue = opened.queue();
        await queue.migrate();
        const times = ["'2026-01-02 00:00:00'", "null", "'2026-01-01 00:00:00'", "null"];
        for (const time of times) {
          await opened.sql(`insert into workflow_attempts (workflow_id, role, status, pickup_count, created_at) values (1, 'builder', 'pending', 0, ${time})`);
        }
        const claimed: string[] = [];
        while (claimed.length < 4) claimed.push(...(await queue.dequeueMany({ roles: ["builder"], limit })).map(({ attemptId }) => attemptId));
        assert.deepEqual(claimed, ["2", "4", "3", "1"]);
      }
    });

    test("its claims and ours on the same rows: nothing twice, nothing left", async () => {
      for (let round = 0; round < TIMES; round++) await raceForRows(backend);
    });

    test("a workflow that we make has an id that none of its attempts names", async () => {
      const { opened, queue } = await shared(backend);
      const { workflowId } = await queue.enqueue({ role: "builder" });
      const next = Number(workflowId) + 1;
      for (let id = next; id < next + 15; id++) await insert(opened, { workflow_id: id, role: "mailer" });
      const made = await queue.enqueue([{ role: "builder" }, { role: "builder" }]);
      const shares = made.filter(({ workflowId }) => Number(workflowId) < next + 15);
      assert.deepEqual(shares, []);
    });

    test("workflows that came to be because its attempts are STUCK do not stand in the way of new ones", async () => {
      const { opened, queue } = await shared(backend);
      const { workflowId } = await queue.enqueue({ role: "builder" });
      const next = Number(workflowId) + 1;
      for (let id = next; id < next + 15; id++) await insert(opened, { workflow_id: id, role: "mailer", pickup_count: 3 });
      assert.equal((await queue.reap()).stuck.length, 15);
      const made = await queue.enqueue({ role: "builder" });
      assert.ok(Number(made.workflowId) >= next + 15);
    });
  });
}

/** Its table with ours around it, as migrate() leaves them. */
async function shared(backend: BackendUnderTest) {
  const opened = await backend.open();
  await opened.sql(`create table workflow_attempts (${TABLES[backend.dialect][0]})`);
  const queue = opened.queue();
  await queue.migrate();
  return { opened, queue };
}

/** It says when: not every such table has a default for it. */
async function insert(opened: Opened, row: Record<string, string | number>): Promise<void> {
  const whole = { status: "pending", pickup_count: 0, ...row };
  const values = Object.values(whole).map((value) => typeof value === "number" ? value : `'${value}'`);
  await opened.sql(`insert into workflow_attempts (${Object.keys(whole).join(", ")}, created_at) values (${values.join(", ")}, ${now(opened)})`);
}

/** Its two statements, with whatever happens between them. */
async function claimAsOlder(opened: Opened, role: string): Promise<string | null | undefined> {
  const [row] = await opened.sql(`select attempt_id from workflow_attempts where role = '${role}' and status = 'pending' order by created_at, attempt_id limit 1`);
  if (row === undefined) return undefined;
  if (Math.random() < 0.5) await turn();
  const [claimed] = await opened.sql(`update workflow_attempts set status = 'in_progress', locked_by_instance = '${NAME}',
    locked_at = ${now(opened)}, lock_heartbeat_at = ${now(opened)}, started_at = ${now(opened)}
    where attempt_id = ${row.attempt_id} and status = 'pending' returning attempt_id`);
  return claimed === undefined ? null : String(claimed.attempt_id);
}

async function raceForRows(backend: BackendUnderTest): Promise<void> {
  const { opened, queue } = await shared(backend);
  for (let n = 0; n < 300; n++) await insert(opened, { workflow_id: n, role: "builder" });
  const claimed: string[] = [];
  const older = async () => {
    for (let id = await claimAsOlder(opened, "builder"); id !== undefined; id = await claimAsOlder(opened, "builder")) {
      if (id !== null) claimed.push(id);
    }
  };
  const ours = async (limit: number) => {
    for (let claims: Claim[] | undefined; claims?.length !== 0;) {
      claims = await queue.dequeueMany({ roles: ["builder"], limit });
      claimed.push(...claims.map(({ attemptId }) => attemptId));
      await turn();
    }
  };
  await Promise.all([older(), older(), ours(1), ours(3)]);
  assert.deepEqual([claimed.length, new Set(claimed).size], [300, 300]);
  const owners = await opened.sql("select locked_by_instance as owner, count(*) as n from workflow_attempts where status = 'in_progress' group by 1");
  assert.deepEqual([owners.length, owners.reduce((sum, { n }) => sum + Number(n), 0)], [2, 300]);
}

function now(opened: Opened): string {
  return opened.dialect === "postgres" ? "clock_timestamp()" : "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
}
