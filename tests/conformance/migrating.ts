import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Queue } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { acquired, failure, fresh, range, ROLE } from "./support.ts";

const LEASE = { attemptId: "1", instanceId: "me", fencingToken: "1" };

const OPERATIONS: Record<string, (queue: Queue) => Promise<unknown>> = {
  "enqueue()": (queue) => queue.enqueue({ role: ROLE }),
  "enqueue() of a list": (queue) => queue.enqueue([{ role: ROLE, key: "a" }, { role: ROLE }]),
  "dequeue()": (queue) => queue.dequeue({ roles: [ROLE] }),
  "dequeueMany()": (queue) => queue.dequeueMany({ roles: [ROLE], limit: 1 }),
  "heartbeat()": (queue) => queue.heartbeat(LEASE),
  "complete()": (queue) => queue.complete(LEASE),
  "fail()": (queue) => queue.fail(LEASE),
  "release()": (queue) => queue.release(LEASE),
  "reap()": (queue) => queue.reap(),
  "retry()": (queue) => queue.retry("1"),
  "cancel()": (queue) => queue.cancel("1"),
  "stats()": (queue) => queue.stats(),
  "prune()": (queue) => queue.prune({ olderThanMs: 0 }),
};

export function migrating(backend: BackendUnderTest): void {
  describe(`${backend.name} · migrate`, () => {
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      test(`${name} without tables says schema_missing and what to do, and works after migrate()`, async () => {
        const opened = await backend.open();
        const queue = opened.queue();
        // After an error of the server's a transaction goes on from its last savepoint.
        const refused = () => backend.inTransaction ? opened.transaction((transaction) => operation(queue.using(transaction))) : operation(queue);
        const error = await refused().then(() => assert.fail(), (thrown: Error) => thrown);
        failure("schema_missing", "migrate()")(error);
        assert.ok(error.cause instanceof Error);
        await queue.migrate();
        await operation(queue).catch((thrown) => assert.ok(["lease_lost", "not_found"].includes(thrown.code), thrown));
      });
    }

    test("migrate() makes the tables once and says from where to where", async () => {
      const queue = (await backend.open()).queue();
      const { from, to } = await queue.migrate();
      assert.ok(from === 0 && Number.isInteger(to) && to >= 1);
      assert.deepEqual(await queue.migrate(), { from: to, to });
    });

    // On Postgres see "search_path" among the hostile settings.
    if (backend.dialect === "sqlite") test("tables of the same names are others, if temporary or in an attached database", async () => {
      const opened = await backend.open();
      const names = ["skiplocked_schema", "workflows", "workflow_attempts"];
      const shadow = (where: string) => names.map((name) => `create table ${where}.${name} (version); insert into ${where}.${name} values (9999);`).join("");
      // Nothing can be attached inside a transaction.
      if (!backend.inTransaction) await opened.sql(`attach ':memory:' as other; ${shadow("other")}`);
      const queue = opened.queue();
      assert.equal((await queue.migrate()).from, 0);
      // A table that counts brings a temporary sqlite_sequence along.
      await opened.sql(`${shadow("temp")} create temp table counted (id integer primary key autoincrement)`);
      const { from, to } = await queue.migrate();
      assert.equal(from, to);
      for (const operation of Object.values(OPERATIONS)) {
        await operation(queue).catch((thrown) => assert.ok(["lease_lost", "wrong_state"].includes(thrown.code), thrown));
      }
      await opened.sql("insert into main.workflow_attempts (workflow_id, role) values (40, 'other')");
      assert.equal((await queue.enqueue({ role: ROLE })).workflowId, "41");
      for (const where of backend.inTransaction ? ["temp"] : ["temp", "other"]) {
        for (const name of names) assert.deepEqual(await opened.sql(`select version from ${where}.${name}`), [{ version: 9999 }]);
      }
    });

    if (backend.dialect === "sqlite") test("columns are told apart by any name that SQLite is told to give them", async () => {
      const opened = await backend.open();
      await opened.sql("drop table if exists not_there; pragma full_column_names = on; pragma short_column_names = off");
      const queue = opened.queue();
      await queue.migrate();
      const [first, second] = await queue.enqueue([{ role: "a", key: "k", payload: 7 }, { role: "b", tier: 3, priority: -1 }]);
      assert.equal((await queue.enqueue({ role: "a", key: "k" })).attemptId, first?.attemptId);
      const claims = await queue.dequeueMany({ roles: ["a", "b"], limit: 2 });
      assert.deepEqual(claims.map(({ attemptId, tier, key, payload }) => [attemptId, tier, key, payload]), [[second?.attemptId, 3, null, null], [first?.attemptId, null, "k", 7]]);
      assert.deepEqual(await queue.heartbeat(claims), [{ held: true }, { held: true }]);
      await queue.complete(claims[0]!, { next: [{ role: "c" }] });
      await queue.fail(claims[1]!, { retry: {} });
      await queue.release(acquired(await queue.dequeue({ roles: ["a"] })));
      assert.deepEqual((await queue.stats()).roles.map(({ role, pending, failed }) => [role, pending, failed]), [["a", 1, 1], ["b", 0, 0], ["c", 1, 0]]);
      for (const operation of Object.values(OPERATIONS)) {
        await operation(queue).catch((thrown) => assert.ok(["lease_lost", "wrong_state"].includes(thrown.code), thrown));
      }
    });

    test("migrate() leaves rows as they are", async () => {
      const db = await fresh(backend);
      await db.stick();
      await db.add({ payload: 1 });
      await db.unchangedBy(() => db.queue.migrate());
    });

    test("migrate() may be called by many at once", async () => {
      const opened = await backend.open();
      const all = await Promise.all(range(8).map(() => opened.queue().migrate()));
      assert.equal(all.filter((each) => each.from === 0).length, 1);
      await opened.queue().enqueue({ role: ROLE });
    });

    test("migrate() refuses tables that are newer than the code", async () => {
      const db = await fresh(backend);
      await db.sql("insert into skiplocked_schema (version) values (9999)");
      await db.unchangedBy(() => assert.rejects(db.queue.migrate(), failure("schema_too_new", "9999")));
      await db.sql("delete from skiplocked_schema where version = 9999");
    });

    test("both dialects have the same tables with the same columns in the same order", async () => {
      const db = await fresh(backend);
      await db.add();
      const [workflows, attempts] = await db.dump() as [object[], object[]];
      assert.deepEqual(Object.keys(workflows[0] ?? {}), ["workflow_id", "status", "stuck_reason", "created_at", "updated_at"]);
      assert.deepEqual(Object.keys(attempts[0] ?? {}), [
        ...["attempt_id", "workflow_id", "role", "tier", "priority", "status", "outcome", "payload", "result", "error", "key"],
        ...["attempt_number", "pickup_count", "fencing_token", "locked_by_instance", "locked_at", "lock_heartbeat_at", "started_at"],
        ...["finished_at", "run_at", "created_at"],
      ]);
    });

    test("times are stored in the form that the contract names", async () => {
      const db = await fresh(backend);
      await db.add({ delayMs: 0 });
      await db.add({ runAt: "2026-01-02T03:04:05.678+00:00" });
      await db.queue.reap();
      await db.queue.heartbeat(await db.claim());
      await db.queue.fail(await db.claim(), { retry: { delayMs: 5 } });
      const columns = ["locked_at", "lock_heartbeat_at", "started_at", "finished_at", "run_at", "created_at"];
      for (const column of columns) {
        const type = backend.dialect === "postgres" ? `cast(pg_typeof(${column}) as text)` : column;
        for (const row of await db.sql(`select ${type} as form from workflow_attempts where ${column} is not null`)) {
          assert.match(String(row["form"]), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$|^timestamp with time zone$/);
        }
      }
    });
  });
}
