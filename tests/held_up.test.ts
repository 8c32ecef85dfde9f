// Others are in the way: what waits, what passes them by, and what goes on meanwhile.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { type Claim, createQueue } from "../mod.ts";
import { openSqlite } from "../src/sqlite.ts";
import { mainBackends } from "./support/backends.ts";
import { longestPause } from "./support/pauses.ts";
import { temporaryFolder } from "./support/temp.ts";

const HELD_MS = 1_500;
const LONG_MS = 300;

describe("sqlite file · held up", () => {
  test("while another holds the write lock the event loop lives, and what is asked for comes when it is free", async () => {
    const pause = await longestPause(LONG_MS, async () => {
      const path = `${temporaryFolder()}/queue.db`;
      const [db, other] = [await openSqlite(path), await openSqlite(path)];
      const queue = createQueue(db);
      await queue.migrate();
      await queue.enqueue([{ role: "r" }, { role: "r" }]);
      const claim = await queue.dequeue({ roles: ["r"] }) as Claim;
      other.exec("begin immediate");
      const waiting = [queue.heartbeat(claim), queue.dequeue({ roles: ["r"] }), queue.stats()];
      await sleep(HELD_MS);
      const freed = other.query("select strftime('%Y-%m-%d %H:%M:%f', 'now') as now").get()?.["now"];
      other.exec("commit");
      const [beat, second] = await Promise.all(waiting);
      assert.deepEqual(beat, { held: true });
      assert.ok((second as Claim).acquired);
      // The beat counts from when it could be written.
      const row = db.query("select lock_heartbeat_at as beat from workflow_attempts where attempt_id = cast(? as integer)").get([claim.attemptId]);
      assert.ok(String(row?.["beat"]) >= String(freed), `${row?.["beat"]}, free at ${freed}`);
      db.close();
      other.close();
    });
    assert.ok(pause < LONG_MS, `blocked for ${pause} ms`);
  });

  test("a handle that is closed while calls wait rejects each of them, and lets go of the file", async () => {
    const path = `${temporaryFolder()}/queue.db`;
    const [db, other] = [await openSqlite(path), await openSqlite(path)];
    const queue = createQueue(db);
    await queue.migrate();
    other.exec("begin immediate");
    const calls = [queue.enqueue({ role: "r" }), queue.reap(), queue.enqueue([{ role: "r", key: "a" }, { role: "r" }])];
    const outcomes = Promise.allSettled(calls);
    await sleep(50);
    db.close();
    other.exec("commit");
    for (const outcome of await outcomes) assert.ok(outcome.status === "rejected" && outcome.reason instanceof Error);
    await assert.rejects(queue.enqueue({ role: "r" }));
    other.close();
    assert.deepEqual([existsSync(`${path}-wal`), existsSync(`${path}-shm`)], [false, false]);
  });
});

for (const backend of mainBackends.filter(({ dialect }) => dialect === "postgres")) {
  describe(`${backend.name} · held up`, () => {
    test("reap() with a limit passes by what others hold, and takes what is behind it", async () => {
      const opened = await backend.open();
      const queue = opened.queue();
      await queue.migrate();
      await queue.enqueue(Array.from({ length: 15 }, () => ({ role: "r" })));
      const claims = await queue.dequeueMany({ roles: ["r"], limit: 15 });
      for (const { attemptId } of claims) await opened.age(attemptId, 3_600_000);
      const ids = claims.map(({ attemptId }) => attemptId);
      for (const maxPickups of [3, 1]) {
        await opened.transaction(async (transaction) => {
          const tx = transaction as unknown as postgres.TransactionSql;
          await tx.unsafe(`select from "${opened.schema}".workflow_attempts where attempt_id in (${ids.slice(0, 10)}) for update`);
          const { requeued, stuck } = await queue.reap({ limit: 10, maxPickups });
          assert.deepEqual([...requeued, ...stuck].map(({ attemptId }) => attemptId), ids.slice(10));
        });
        await opened.sql("update workflow_attempts set status = 'in_progress', lock_heartbeat_at = '2020-01-01' where true");
      }
    });

    test("what is committed late is claimed late, and holds nobody up", async () => {
      const opened = await backend.open();
      const queue = opened.queue();
      await queue.migrate();
      const claim = async () => (await queue.dequeue({ roles: ["r"] }) as Claim).payload;
      await opened.transaction(async (transaction) => {
        await queue.using(transaction).enqueue({ role: "r", payload: "began first" });
        await queue.enqueue({ role: "r", payload: "committed first" });
        assert.equal(await claim(), "committed first");
      });
      assert.equal(await claim(), "began first");
      await assert.rejects(opened.transaction(async (transaction) => {
        await queue.using(transaction).enqueue({ role: "r", payload: "never" });
        await queue.enqueue({ role: "r", payload: "after the gap" });
        throw new Error("rollback");
      }));
      assert.equal(await claim(), "after the gap");
    });

    test("a pool that handlers hold makes heartbeats wait; one of their own does not", async () => {
      const opened = await backend.open();
      const [shared, own] = [postgres(String(opened.address), { max: 2 }), postgres(String(opened.address), { max: 1 })];
      const [onShared, onOwn] = [shared, own].map((sql) => createQueue(sql, { schema: opened.schema! }));
      await onOwn!.migrate();
      await onOwn!.enqueue([{ role: "r" }, { role: "r" }]);
      const claims = await onOwn!.dequeueMany({ roles: ["r"], limit: 2 });
      let release = () => {};
      const handled = new Promise<void>((resolve) => release = resolve);
      const handlers = claims.map(() => shared.begin(() => handled));
      await sleep(50);
      const late = onShared!.heartbeat(claims).then(() => "answered");
      assert.equal(await Promise.race([late, sleep(200, "waits")]), "waits");
      assert.deepEqual(await onOwn!.heartbeat(claims), [{ held: true }, { held: true }]);
      release();
      assert.equal(await late, "answered");
      await Promise.all(handlers);
      for (const sql of [shared, own]) await sql.end();
    });
  });
}
