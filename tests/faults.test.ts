import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PostgresJsPool } from "../mod.ts";
import { createQueue } from "../mod.ts";
import { openSqlite } from "../src/sqlite.ts";
import { backends } from "./support/backends.ts";
import { temporaryFolder } from "./support/temp.ts";

// What was found broken once, where no other suite has a place for it.

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

for (const backend of backends) {
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

for (const backend of backends.filter(({ dialect }) => dialect === "postgres")) {
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

    test("using() refuses the pool, which is no transaction", async () => {
      const opened = await backend.open();
      const pool = opened.connection as PostgresJsPool;
      assert.throws(() => opened.queue().using(pool), { code: "unsupported_connection" });
    });
  });
}
