import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describe } from "node:test";
import type { Connection, QueueOptions } from "../../mod.ts";
import { createQueue } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { atEnd, test } from "../support/testing.ts";
import { acquired, failure, fresh, range, ROLE } from "./support.ts";

const VARIABLE = "CONTROLLER_MAX_ATTEMPT_PICKUPS";
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

const UNSUPPORTED: Record<string, [unknown, RegExp]> = {
  "nothing": [undefined, /undefined/],
  "null": [null, /null/],
  "a URL": ["postgres://user:secret@localhost/db", /string/],
  "a URL object": [new URL("postgres://user:secret@localhost/db"), /URL/],
  "a path": ["queue.db", /string/],
  "a number": [5, /number/],
  "an empty object": [{}, /Object/],
  "an object without a class": [Object.create(null), /object/],
  "a promise": [Promise.resolve({}), /promise.*await/],
  "a function": [function connect() {}, /function.*connect/],
  "an object with a method too few": [{ prepare() {}, exec() {} }, /prepare/],
};

export function creating(backend: BackendUnderTest): void {
  describe(`${backend.name} · createQueue`, () => {
    for (const [name, [connection, said]] of Object.entries(UNSUPPORTED)) {
      test(`createQueue() refuses ${name} and says what it got`, () => {
        assert.throws(() => createQueue(connection as Connection), (error: Error) => {
          failure("unsupported_connection", said)(error);
          return !error.message.includes("secret");
        });
      });
    }

    test("createQueue() refuses options that make no sense", async () => {
      const { connection } = await backend.open();
      const bad: Record<string, unknown[]> = {
        instanceId: ["", 5, null, "\0", "\ud800"],
        maxPickups: [0, -1, 1.5, NaN, 2 ** 31, "3"],
        staleAfterMs: [-1, NaN, Infinity, 1.5, "5"],
        schema: ["", 5, null, "\0", "x".repeat(64), {}],
      };
      for (const [option, values] of Object.entries(bad)) {
        for (const value of values) {
          const create = () => createQueue(connection, { [option]: value } as QueueOptions);
          assert.throws(create, failure("invalid_argument", option), `${option} ${value}`);
        }
      }
      for (const options of [null, 5, "x", []]) assert.throws(() => createQueue(connection, options as QueueOptions), failure("invalid_argument"));
    });

    test("createQueue() takes undefined for left out", async () => {
      const { connection } = await backend.open();
      const options = { instanceId: undefined, maxPickups: undefined, staleAfterMs: undefined, schema: undefined };
      assert.ok(createQueue(connection, options as object).instanceId);
    });

    test("createQueue() gives each instance a name of its own: host, process and uuid", async () => {
      const opened = await backend.open();
      const instances = range(50).map(() => opened.queue().instanceId);
      assert.equal(new Set(instances).size, 50);
      for (const instance of instances) {
        const parts = instance.split("/");
        assert.equal(parts.length, 3);
        assert.ok(parts[0] !== "" && parts[1] === String(process.pid));
        assert.match(String(parts[2]), new RegExp(`^${UUID.source}$`));
      }
      assert.equal(opened.queue({ instanceId: "host/1/a" }).instanceId, "host/1/a");
    });

    test("the queue says which dialect it speaks", async () => {
      const opened = await backend.open();
      assert.equal(opened.queue().dialect, backend.dialect);
    });

    test(`createQueue() reads ${VARIABLE}`, async () => {
      const db = await fresh(backend);
      const before = process.env[VARIABLE];
      atEnd(() => before === undefined ? delete process.env[VARIABLE] : process.env[VARIABLE] = before);
      for (const [value, limit] of [["1", 1], ["7", 7], [undefined, 3], ["2147483647", 2 ** 31 - 1]] as const) {
        if (value === undefined) delete process.env[VARIABLE];
        else process.env[VARIABLE] = value;
        const queue = db.opened.queue();
        await db.sql("delete from workflow_attempts");
        await db.add();
        await db.sql(`update workflow_attempts set pickup_count = ${limit} - 1`);
        const claim = acquired(await queue.dequeue({ roles: [ROLE] }));
        await db.silence(claim.attemptId);
        assert.deepEqual((await queue.reap()).stuck.map((each) => each.pickupCount), [limit]);
      }
      for (const value of ["", " ", "0", "-1", "1.5", "three", "3x", "1e3", "0x3", "NaN", "Infinity", "2147483648", " 3"]) {
        process.env[VARIABLE] = value;
        assert.throws(() => db.opened.queue(), (error: Error) =>
          failure("invalid_argument", VARIABLE)(error) && failure("invalid_argument", JSON.stringify(value))(error), value);
        assert.ok(db.opened.queue({ maxPickups: 2 }));
      }
    });

    test("createQueue() does no I/O", () => {
      let calls = 0;
      const count = () => void calls++;
      const fake = backend.dialect === "postgres"
        ? Object.assign(count, { unsafe: count, begin: count, end: count, query: count })
        : { prepare: count, exec: count, close: count, inTransaction: false };
      const queue = createQueue(fake as unknown as Connection);
      const transaction = backend.dialect === "postgres" ? Object.assign(() => count(), { unsafe: count, savepoint: count }) : fake;
      assert.ok(queue.using(transaction as unknown as Connection));
      assert.equal(calls, 0);
    });

    test("the caller's connection stays open and its settings stay as they were", async () => {
      const db = await fresh(backend);
      const settings = async () => await Promise.all(range(4).map(() => db.sql(backend.dialect === "postgres" ? SETTINGS : PRAGMAS)));
      if (backend.dialect === "sqlite") await db.sql("pragma busy_timeout = 1234");
      const before = await settings();
      await db.queue.migrate();
      const { workflowId } = await db.stick({ role: ROLE, key: "k" });
      await db.queue.retry(workflowId);
      await db.queue.enqueue([{ role: ROLE, key: "k" }, { role: ROLE, key: "l" }]);
      await db.queue.heartbeat(await db.claim());
      await db.queue.fail(await db.claim(), { retry: {} });
      await db.queue.complete(await db.claim());
      await db.queue.cancel(workflowId);
      await assert.rejects(db.queue.retry(workflowId), failure("wrong_state"));
      await assert.rejects(db.queue.enqueue({ role: ROLE, workflowId }), failure("workflow_closed"));
      await db.queue.stats();
      await db.queue.prune({ olderThanMs: 0 });
      assert.deepEqual(await settings(), before);
      if (backend.dialect === "sqlite") assert.deepEqual(Object.values((await db.sql("pragma busy_timeout"))[0] ?? {}), [1234]);
    });

    test("a file that its caller closed is closed, with nothing of it left in a log", async () => {
      const db = await fresh(backend);
      await db.stick();
      await db.add();
      await db.queue.complete(await db.claim());
      await db.queue.stats();
      await db.queue.prune({ olderThanMs: 0 });
      await db.opened.close();
      if (backend.dialect === "sqlite" && db.address !== null) assert.deepEqual(readdirSync(dirname(db.address)), [basename(db.address)]);
    });

    if (backend.dialect === "sqlite") {
      test("createQueue() refuses a schema, which a file does not have", async () => {
        const { connection } = await backend.open();
        assert.throws(() => createQueue(connection, { schema: "public" }), failure("invalid_argument", /schema.*"public"/));
      });
    } else if (!backend.inTransaction) {
      test("two schemas of one database are two queues", async () => {
        const [one, two] = [await fresh(backend), await fresh(backend)];
        const queue = createQueue(one.connection, { schema: String(two.schema) });
        await queue.enqueue({ role: ROLE });
        assert.deepEqual([(await one.attempts()).length, (await two.attempts()).length], [0, 1]);
      });
    }
  });
}

// Those of plpgsql are there once a connection has used it.
const SETTINGS = "select name, setting from pg_settings where name not like 'plpgsql.%' order by name";

const PRAGMAS = ["journal_mode", "synchronous", "foreign_keys", "busy_timeout", "locking_mode", "temp_store", "cache_size", "recursive_triggers"]
  .map((name) => `select '${name}' as name, * from pragma_${name}`).join(" union all ");
