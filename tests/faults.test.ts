import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe } from "node:test";
import postgres from "postgres";
import { createQueue, type PostgresJsPool } from "../mod.ts";
import type { Statement } from "../src/query.ts";
import { dequeue } from "../src/sql.gen.ts";
import { openSqlite } from "../src/sqlite.ts";
import { mainBackends } from "./support/backends.ts";
import { longestPause } from "./support/pauses.ts";
import { temporaryFolder } from "./support/temp.ts";
import { test } from "./support/testing.ts";

// What was found broken once, where no other suite has a place for it.

// A text that no compression makes shorter.
const random = (length: number) => randomBytes(length).toString("base64").slice(0, length);

describe("sqlite file · faults", () => {
  test("enqueue() that waits for a lock does not slip into a transaction that the caller begins meanwhile", async () => {
    const path = `${temporaryFolder()}/queue.db`;
    const [db, other] = [await openSqlite(path), await openSqlite(path)];
    const queue = createQueue(db);
    await queue.migrate();
    other.exec("begin immediate");
    const enqueued = queue.enqueue({ role: "builder" });
    db.exec("begin");
    other.exec("commit");
    await new Promise((resolve) => setTimeout(resolve, 200));
    db.exec("rollback");
    const { attemptId } = await enqueued;
    assert.equal(db.query("select count(*) as n from workflow_attempts").get()?.["n"], 1);
    assert.equal(attemptId, "1");
    db.close();
    other.close();
  });

  test("migrate() with nothing to do does not wait for somebody's open write", async () => {
    const path = `${temporaryFolder()}/queue.db`;
    const [db, other] = [await openSqlite(path), await openSqlite(path)];
    await createQueue(db).migrate();
    other.exec("begin immediate");
    assert.deepEqual(await createQueue(db).migrate(), { from: 1, to: 1 });
    other.exec("rollback");
    db.close();
    other.close();
  });

  test("many calls that wait for one lock leave the event loop alive", async () => {
    const pause = await longestPause(400, async () => {
      const path = `${temporaryFolder()}/queue.db`;
      const [db, other] = [await openSqlite(path), await openSqlite(path)];
      const queue = createQueue(db);
      await queue.migrate();
      other.exec("begin immediate");
      const all = Promise.all(Array.from({ length: 60 }, () => queue.enqueue({ role: "builder" })));
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      other.exec("commit");
      await all;
      db.close();
      other.close();
    });
    assert.ok(pause < 400, `blocked for ${pause} ms`);
  });

  test("dequeue() searches by index also with statistics of a nearly empty table", async () => {
    const db = await openSqlite(":memory:");
    const queue = createQueue(db);
    await queue.migrate();
    await queue.enqueue({ role: "builder" });
    const claim = await queue.dequeue({ roles: ["builder"] });
    if (claim.acquired) await queue.complete(claim);
    db.run("analyze");
    const [{ text }] = dequeue.sqlite as [Statement];
    const plan = db.query(`explain query plan ${text}`).all({ roles: "[]", instance_id: "", max_pickups: 3 });
    const details = plan.map((step) => String(step["detail"]));
    assert.ok(details.some((detail) => detail.includes("workflow_attempts_pending (role=?)")), details.join("\n"));
    assert.deepEqual(details.filter((detail) => /^SCAN (workflow_attempts|a|head)\b.*(INDEX|attempts)/.test(detail)), []);
    db.close();
  });

  test("dequeue() hands out a payload of another program that is no JSON as its text", async () => {
    const db = await openSqlite(":memory:");
    const queue = createQueue(db);
    await queue.migrate();
    db.run("insert into workflow_attempts (workflow_id, role, payload) values (1, 'builder', 'acme/web')");
    const claim = await queue.dequeue({ roles: ["builder"] });
    assert.equal(claim.acquired && claim.payload, "acme/web");
    db.close();
  });
});

for (const backend of mainBackends) {
  describe(`${backend.name} · faults`, () => {
    test("a text of 12 MB is kept, and refused with its code when it has a NUL", async () => {
      const opened = await backend.open();
      const queue = opened.queue();
      await queue.migrate();
      const long = "\\\"ä".repeat(4_000_000);
      await queue.enqueue({ role: "builder", payload: { long } });
      const claim = await queue.dequeue({ roles: ["builder"] });
      assert.ok(claim.acquired && (claim.payload as { long: string }).long === long);
      await assert.rejects(queue.enqueue({ role: "builder", payload: { long: `${long}\0` } }), { code: "invalid_argument" });
    });
  });
}

for (const backend of mainBackends.filter(({ dialect }) => dialect === "postgres")) {
  describe(`${backend.name} · lost updates`, () => {
    const finished = async () => {
      const opened = await backend.open();
      const queue = opened.queue();
      await queue.migrate();
      const { workflowId } = await queue.enqueue({ role: "first" });
      await queue.enqueue({ role: "second", workflowId });
      const [first, second] = [await queue.dequeue({ roles: ["first"] }), await queue.dequeue({ roles: ["second"] })];
      assert.ok(first.acquired && second.acquired);
      return { opened, queue, workflowId, first, second };
    };

    test("fail() that waits for new work on a FAILED workflow makes it FAILED again", async () => {
      const { opened, queue, workflowId, first, second } = await finished();
      await queue.fail(first);
      let failed: Promise<void> | undefined;
      await opened.transaction(async (tx) => {
        await queue.using(tx).enqueue({ role: "third", workflowId });
        failed = queue.fail(second);
        await new Promise((resolve) => setTimeout(resolve, 300));
      });
      await failed;
      assert.deepEqual(await opened.sql("select status from workflows"), [{ status: "FAILED" }]);
    });

    test("fail() that waits for the retry of a STUCK workflow makes it FAILED", async () => {
      const { opened, queue, workflowId, first, second } = await finished();
      await opened.age(first.attemptId, 3_600_000);
      assert.equal((await queue.reap({ maxPickups: 1 })).stuck.length, 1);
      let failed: Promise<void> | undefined;
      await opened.transaction(async (tx) => {
        await queue.using(tx).retry(workflowId);
        failed = queue.fail(second);
        await new Promise((resolve) => setTimeout(resolve, 300));
      });
      await failed;
      assert.deepEqual(await opened.sql("select status from workflows"), [{ status: "FAILED" }]);
    });

    test("reap() leaves what a transaction holds for the next round, and does not wait for it", async () => {
      const { opened, queue, first, second } = await finished();
      for (const { attemptId } of [first, second]) await opened.age(attemptId, 3_600_000);
      await opened.transaction(async (tx) => {
        await queue.using(tx).release(first);
        const waited = new Promise<never>((_, reject) => setTimeout(reject, 10_000, new Error("reap() waited")).unref());
        const { requeued } = await Promise.race([queue.reap(), waited]);
        assert.deepEqual(requeued.map(({ attemptId }) => attemptId), [second.attemptId]);
      });
      assert.deepEqual(await queue.reap(), { requeued: [], stuck: [] });
    });

    test("a role that no index takes is refused with its code in every length, and no row is there", async () => {
      const opened = await backend.open();
      const queue = opened.queue();
      await queue.migrate();
      await queue.enqueue({ role: random(2_600) });
      const tooLong = { code: "invalid_argument", message: /too long|no longer than/ };
      const lengths = [...Array.from({ length: 24 }, (_, place) => 4_000 + 250 * place), 8_150, 8_160, 8_191, 8_192, 9_900, 10_000, 10_001];
      for (const length of lengths) {
        const role = random(length);
        await assert.rejects(queue.enqueue({ role }), tooLong, `${length}`);
        await assert.rejects(queue.enqueue([{ role: "r", key: "k" }, { role, key: "l" }]), tooLong, `${length}, in a list with keys`);
      }
      assert.deepEqual(await opened.sql("select cast(count(*) as int) as rows from workflow_attempts"), [{ rows: 1 }]);
    });

    test("a reserved connection is refused, which cannot tell whether a transaction is open", async () => {
      const opened = await backend.open();
      const reserved = await (opened.connection as postgres.Sql).reserve();
      assert.throws(() => createQueue(reserved), { code: "unsupported_connection" });
      reserved.release();
    });

    test("migrate() knows its tables under quote_all_identifiers", async () => {
      const opened = await backend.open();
      const sql = postgres(String(opened.address), { max: 1, connection: { quote_all_identifiers: "on" } as object });
      assert.deepEqual(await createQueue(sql, { schema: String(opened.schema) }).migrate(), { from: 0, to: 1 });
      await sql.end();
    });

    test("using() refuses the pool, which is no transaction", async () => {
      const opened = await backend.open();
      const pool = opened.connection as PostgresJsPool;
      assert.throws(() => opened.queue().using(pool), { code: "unsupported_connection" });
    });
  });
}
