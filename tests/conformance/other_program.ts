import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Claim } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, type Fixture, fresh, HOUR, ids, only, range, ROLE } from "./support.ts";

/** A workflow id of which there is no row. */
const ORPHAN = "4711";

export function otherProgram(backend: BackendUnderTest): void {
  describe(`${backend.name} · other program`, () => {
    test("an attempt that another program inserted is claimed and completed", async () => {
      const db = await fresh(backend);
      const { workflowId } = await db.add({ role: "ours" });
      const attemptId = await insert(db, workflowId);
      const claim = await db.claim();
      assert.deepEqual(claim, {
        acquired: true,
        attemptId,
        workflowId,
        role: ROLE,
        tier: 7,
        priority: 0,
        attemptNumber: 1,
        pickupCount: 0,
        key: null,
        payload: null,
        instanceId: db.queue.instanceId,
        fencingToken: "1",
      });
      await db.queue.complete(await db.claim({ roles: ["ours"] }));
      assert.equal(await db.statusOf(workflowId), "ACTIVE");
      await db.queue.complete(claim);
      assert.equal(await db.statusOf(workflowId), "SUCCEEDED");
    });

    test("nothing is claimed twice by the other program and by us", async () => {
      const db = await fresh(backend);
      await db.queue.enqueue(range(40).map(() => ({ role: ROLE })));
      const taken: string[] = [];
      for (const n of range(40)) taken.push(n % 3 ? (await db.claim()).attemptId : String(await claimPlainly(db)));
      assert.equal(new Set(taken).size, 40);
      assert.equal(await claimPlainly(db), undefined);
      assert.equal((await db.queue.dequeue({ roles: [ROLE] })).acquired, false);
    });

    test("a claim by the other program that goes silent is reaped, up to STUCK", async () => {
      const db = await fresh(backend);
      const { workflowId, attemptId } = await db.add();
      for (const pickupCount of [1, 2, 3]) {
        await claimPlainly(db);
        await db.sql(`update workflow_attempts set lock_heartbeat_at = null, locked_at = ${db.instant(await db.now() - HOUR)}`);
        const { requeued, stuck } = await db.queue.reap();
        assert.deepEqual([...requeued, ...stuck], [{ attemptId, workflowId, role: ROLE, pickupCount, previousInstanceId: "plain/1/a" }]);
        assert.equal(stuck.length, pickupCount === 3 ? 1 : 0);
      }
      assert.equal(await db.statusOf(workflowId), "STUCK");
    });

    test("a claim by the other program without a name is reaped with a previous owner of null", async () => {
      const db = await fresh(backend);
      await db.add();
      await db.sql(`update workflow_attempts set status = 'in_progress', locked_at = ${db.instant(0)}`);
      assert.equal(only((await db.queue.reap()).requeued).previousInstanceId, null);
    });

    test("a lease that the other program took over is lost", async () => {
      const db = await fresh(backend);
      await db.add();
      const claim = await db.claim();
      await db.sql("update workflow_attempts set locked_by_instance = 'plain/1/a'");
      await db.unchangedBy(() => assert.rejects(db.queue.complete(claim), failure("lease_lost")));
    });

    test("a pending attempt that the other program pushed to the limit is STUCK at the next reap", async () => {
      const db = await fresh(backend);
      const made = await db.queue.enqueue(range(4).map(() => ({ role: ROLE })));
      for (const [place, { attemptId }] of made.entries()) {
        await db.sql(`update workflow_attempts set pickup_count = ${place + 1} where attempt_id = ${attemptId}`);
      }
      const { requeued, stuck } = await db.queue.reap();
      assert.deepEqual([ids(requeued), ids(stuck)], [[], ids(made.slice(2))]);
      assert.deepEqual(stuck.map((each) => [each.pickupCount, each.previousInstanceId]), [[3, null], [4, null]]);
      assert.deepEqual((await db.attempts()).map((row) => row.pickup_count), [1, 2, 3, 4]);
      assert.deepEqual((await db.workflows()).map((row) => row.status), ["ACTIVE", "ACTIVE", "STUCK", "STUCK"]);
      const exhausted = await db.attempts("outcome = 'attempt-pickup-exhausted' and status = 'failed'");
      assert.ok(exhausted.every((row) => row.fencing_token === "1" && row.finished_at !== null));
    });

    test("an attempt without a workflow row goes through every operation", async () => {
      const db = await fresh(backend);
      const ends: ((claim: Claim) => Promise<void>)[] = [
        db.queue.complete,
        db.queue.fail,
        (claim) => db.queue.complete(claim, { next: [{ role: "next" }] }),
        (claim) => db.queue.fail(claim, { retry: {} }),
      ];
      for (const end of ends) {
        await insert(db, ORPHAN);
        await db.queue.release(await db.claim());
        const claim = await db.claim();
        assert.deepEqual(await db.queue.heartbeat(claim), { held: true });
        await end(claim);
      }
      const states = (await db.attempts(`workflow_id = ${ORPHAN}`)).map((row) => `${row.role} ${row.status}`);
      assert.deepEqual(states.toSorted(), [
        `${ROLE} failed`,
        `${ROLE} failed`,
        `${ROLE} pending`,
        `${ROLE} succeeded`,
        `${ROLE} succeeded`,
        "next pending",
      ]);
      assert.deepEqual(await db.workflows(), []);
    });

    test("a broken attempt without a workflow row gets another pickup", async () => {
      const db = await fresh(backend);
      const attemptId = await insert(db, ORPHAN);
      await db.queue.fail(await db.claim(), { outcome: "worker-internal-error" });
      assert.deepEqual(ids((await db.queue.reap()).requeued), [attemptId]);
      assert.equal((await db.attempt(attemptId)).status, "pending");
    });

    test("a workflow row that is missing is made when it must be STUCK", async () => {
      const db = await fresh(backend);
      const attemptId = await insert(db, ORPHAN);
      const sibling = await insert(db, ORPHAN);
      for (const id of [attemptId, sibling]) {
        await db.claim();
        await db.silence(id);
      }
      const { stuck } = await db.queue.reap({ maxPickups: 1 });
      assert.deepEqual(stuck.map((each) => [each.attemptId, each.workflowId]), [[attemptId, ORPHAN], [sibling, ORPHAN]]);
      const { workflow_id, status, stuck_reason } = only(await db.workflows());
      assert.deepEqual([workflow_id, status, stuck_reason], [ORPHAN, "STUCK", "attempt-pickup-exhausted"]);
      assert.equal((await db.queue.stats()).stuck, 1);
      await db.queue.retry(ORPHAN);
      assert.equal(await db.statusOf(ORPHAN), "ACTIVE");
      await db.queue.complete(await db.claim());
      await db.queue.complete(await db.claim());
      assert.equal(await db.statusOf(ORPHAN), "SUCCEEDED");
    });

    test("retry(), cancel() and enqueue() do not find a workflow without a row", async () => {
      const db = await fresh(backend);
      await insert(db, ORPHAN);
      await db.unchangedBy(async () => {
        await assert.rejects(db.queue.retry(ORPHAN), failure("not_found", ORPHAN));
        await assert.rejects(db.queue.cancel(ORPHAN), failure("not_found", ORPHAN));
        await assert.rejects(db.add({ workflowId: ORPHAN }), failure("not_found", ORPHAN));
      });
    });

    for (const place of ["by itself", "in a list", "in a transaction"]) {
      test(`enqueue() ${place} passes by the ids of workflows that reap made rows for`, async () => {
        const db = await fresh(backend);
        for (const id of range(30)) await insert(db, String(id + 1));
        await db.sql("update workflow_attempts set pickup_count = 3");
        assert.equal((await db.queue.reap()).stuck.length, 30);
        const made = place === "in a list"
          ? (await db.queue.enqueue(range(3).map(() => ({ role: ROLE }))))[0]
          : place === "by itself"
          ? await db.add()
          : await db.opened.transaction((transaction) => db.queue.using(transaction).enqueue({ role: ROLE }));
        assert.ok(Number(made?.workflowId) > 30);
        assert.equal((await db.workflows()).filter((row) => row.status === "STUCK").length, 30);
      });
    }
  });
}

/** What the other program writes: only its own columns. */
async function insert(db: Fixture, workflowId: string): Promise<string> {
  const [row] = await db.sql(
    `insert into workflow_attempts (workflow_id, role, tier, status, pickup_count, created_at)
     values (${workflowId}, '${ROLE}', 7, 'pending', 0, ${db.instant(await db.now())}) returning cast(attempt_id as text) as id`,
  );
  return String(row?.["id"]);
}

/** How it claims: two plain statements. */
async function claimPlainly(db: Fixture): Promise<string | undefined> {
  const [row] = await db.sql(
    `select cast(attempt_id as text) as id from workflow_attempts
     where status = 'pending' and role = '${ROLE}' order by created_at, attempt_id limit 1`,
  );
  if (row === undefined) return undefined;
  const now = db.instant(await db.now());
  await db.sql(
    `update workflow_attempts set status = 'in_progress', locked_by_instance = 'plain/1/a', locked_at = ${now}, lock_heartbeat_at = ${now},
     started_at = ${now} where attempt_id = ${row["id"]} and status = 'pending'`,
  );
  return String(row["id"]);
}
