// What a driver's own shape asks for, beyond the suite that every connection passes.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import postgres from "postgres";
import { type Connection, createQueue, type Queue } from "../mod.ts";
import * as sql from "../src/sql.gen.ts";
import { openSqlite } from "../src/sqlite.ts";
import { acquired, failure } from "./conformance/support.ts";
import { stallingProxy } from "./support/stalling_proxy.ts";
import { temporaryFolder } from "./support/temp.ts";
import { atEnd, test } from "./support/testing.ts";

const ADDRESS = process.env["DATABASE_URL"];
const ROLE = "builder";
const ROLLBACK = new Error("rolled back on purpose");

describe("connections of Postgres", { skip: ADDRESS === undefined && "no DATABASE_URL" }, () => {
  const schema = `test_${randomUUID()}`;
  const pool = new pg.Pool({ connectionString: String(ADDRESS), max: 3 });
  const count = async () => (await pool.query(`select 1 from "${schema}".workflow_attempts`)).rowCount;
  const connect = async () => {
    const client = new pg.Client({ connectionString: String(ADDRESS) });
    await client.connect();
    atEnd(() => client.end().catch(() => {}));
    return client;
  };

  before(async () => void await createQueue(pool, { schema }).migrate());
  after(async () => {
    await pool.query(`set client_min_messages = warning; drop schema "${schema}" cascade`);
    await pool.end();
  });

  test("a client of pg that began a transaction without telling is joined", async () => {
    const client = await connect();
    const queue = createQueue(client, { schema });
    const rows = await count();
    await client.query("begin");
    await queue.enqueue([{ role: ROLE, key: "joined" }, { role: ROLE, key: "joined too" }]);
    const { workflowId } = await queue.enqueue({ role: ROLE });
    await queue.cancel(workflowId);
    assert.equal(client.getTransactionStatus(), "T");
    assert.equal(await count(), rows);
    await client.query("rollback");
    assert.equal(await count(), rows);
    await queue.cancel((await queue.enqueue({ role: ROLE })).workflowId);
    assert.equal(client.getTransactionStatus(), "I");
    assert.equal(await count(), Number(rows) + 1);
  });

  test("a transaction that a client of pg began is the caller's even where the driver cannot tell", async () => {
    const client = await connect();
    const { workflowId } = await createQueue(pool, { schema }).enqueue({ role: ROLE });
    const status = async () => (await pool.query(`select status from "${schema}".workflows where workflow_id = $1`, [workflowId])).rows[0].status;
    const queue = createQueue(client, { schema });
    // Its answer is not there yet.
    const begun = client.query("begin");
    const cancelled = queue.cancel(workflowId);
    await begun;
    await cancelled;
    await client.query("rollback");
    assert.equal(await status(), "ACTIVE");
    // Before pg 8.17, and with Neon's.
    client.getTransactionStatus = undefined as never;
    await client.query("begin");
    await queue.cancel(workflowId);
    await client.query("rollback");
    assert.equal(await status(), "ACTIVE");
    await queue.cancel(workflowId);
    assert.equal(await status(), "CANCELLED");
    assert.equal(client.listenerCount("notice"), 0);
  });

  test("a pool behind a Proxy is a pool", async () => {
    const methods = new Map<PropertyKey, unknown>();
    const proxy = new Proxy(() => {}, {
      get: (_, name) => {
        const found: unknown = Reflect.get(pool, name);
        if (typeof found !== "function") return found;
        return methods.get(name) ?? (methods.set(name, found.bind(pool)), methods.get(name));
      },
    });
    const queue = createQueue(proxy as unknown as Connection, { schema });
    const made = await Promise.all(Array.from({ length: 9 }, () => queue.enqueue({ role: ROLE })));
    await Promise.all(made.map(({ workflowId }) => queue.cancel(workflowId)));
    assert.equal((await pool.query("select 1 from pg_stat_activity where state = 'idle in transaction' and query like $1", [`%${schema}%`])).rowCount, 0);
    assert.throws(() => queue.using(proxy as unknown as Connection), failure("unsupported_connection"));
  });

  test("what failed in a transaction that the caller began is told as it is, and not tried again", async () => {
    const client = await connect();
    const blocker = await connect();
    const queue = createQueue(client, { schema });
    const { workflowId } = await queue.enqueue({ role: ROLE });
    await blocker.query("begin");
    await blocker.query(`update "${schema}".workflows set updated_at = updated_at where workflow_id = ${workflowId}`);
    await client.query("begin isolation level repeatable read");
    await client.query(`select 1 from "${schema}".workflows`);
    const waiting = assert.rejects(queue.cancel(workflowId), { code: "40001" });
    await blocker.query("commit");
    await waiting;
    await assert.rejects(client.query("select 1"), { code: "25P02" });
    await client.query("rollback");
    await queue.cancel(workflowId);
  });

  test("operations that run at once on one client of pg do not get into each other's transactions", async () => {
    const client = await connect();
    const queue = createQueue(client, { schema });
    const warnings: Error[] = [];
    const listen = (warning: Error) => void warnings.push(warning);
    process.on("warning", listen);
    const rows = Number(await count());
    const calls = Array.from({ length: 40 }, (_, n) =>
      n % 2 ? queue.enqueue([{ role: ROLE, key: `once ${n}` }, { role: ROLE, workflowId: 4711 }]) : queue.enqueue([{ role: ROLE, key: `once ${n}` }, { role: ROLE }]));
    const results = await Promise.allSettled(calls);
    process.removeListener("warning", listen);
    assert.deepEqual(results.map(({ status }) => status), calls.map((_, n) => n % 2 ? "rejected" : "fulfilled"));
    assert.equal(await count(), rows + 40);
    assert.deepEqual(warnings, []);
  });

  test("a connection of a pool that is lost in a transaction fails the call only", async () => {
    const lone = new pg.Pool({ connectionString: String(ADDRESS), max: 1 });
    atEnd(() => lone.end());
    lone.on("error", () => {});
    const queue = createQueue(lone, { schema });
    const { workflowId } = await queue.enqueue({ role: ROLE });
    const [{ pid }] = (await lone.query("select pg_backend_pid() as pid")).rows;
    const blocker = await connect();
    await blocker.query("begin");
    await blocker.query(`update "${schema}".workflows set updated_at = updated_at where workflow_id = ${workflowId}`);
    const waiting = assert.rejects(queue.cancel(workflowId), { code: "57P01" });
    while ((await blocker.query("select 1 from pg_locks where not granted and pid = $1", [pid])).rowCount === 0) await sleep(10);
    await blocker.query("select pg_terminate_backend($1)", [pid]);
    await waiting;
    await blocker.query("rollback");
    await queue.cancel(workflowId);
  });

  test("a begin that comes too late leaves no transaction open behind the caller's back", async () => {
    const stalled = await stallingProxy(new URL(String(ADDRESS)), /begin isolation/);
    atEnd(stalled.close);
    const [lone, client] = [new pg.Pool({ connectionString: stalled.url, max: 1, query_timeout: 300 }), new pg.Client({ connectionString: stalled.url, query_timeout: 300 })];
    lone.on("error", () => {});
    client.on("error", () => {});
    await client.connect();
    for (const connection of [lone, client]) {
      const queue = createQueue(connection, { schema });
      const { workflowId } = await queue.enqueue({ role: ROLE });
      stalled.stallOnce(900);
      await assert.rejects(queue.cancel(workflowId), /timeout/i);
      await sleep(1_200);
      const rows = Number(await count());
      await queue.enqueue({ role: ROLE });
      await connection.query(`update "${schema}".workflows set updated_at = updated_at where workflow_id = ${workflowId}`);
      assert.equal(await count(), rows + 1, "what was acknowledged is there for others");
      await queue.cancel(workflowId);
      await connection.end();
    }
  });

  test("two copies of the package on one client of pg keep out of each other's transactions", async () => {
    const client = await connect();
    const folder = temporaryFolder("copy");
    cpSync(new URL("../src/", import.meta.url), folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const other: typeof import("../src/queue.ts") = await import(pathToFileURL(join(folder, "queue.ts")).href);
    assert.notEqual(other.createQueue, createQueue);
    const copies = [createQueue(client, { schema }), other.createQueue(client, { schema })] as const;
    const rows = Number(await count());
    for (let n = 0; n < 20; n++) {
      const list = [{ role: ROLE, key: "k1", workflowId: 4711 }, { role: ROLE, key: "k2", workflowId: 4711 }];
      await Promise.all([assert.rejects(copies[0].enqueue(list)), copies[1].enqueue({ role: ROLE })]);
    }
    assert.equal(await count(), rows + 20);
  });

  test("migrations at once in one transaction leave its search_path as it was", async () => {
    const sql = postgres(String(ADDRESS), { max: 1, onnotice: () => {} });
    atEnd(() => sql.end());
    const other = `test_${randomUUID()}`;
    await assert.rejects(
      sql.begin(async (transaction) => {
        const queue = createQueue(transaction, { schema: other });
        const path = async () => (await transaction.unsafe("show search_path"))[0];
        const path0 = await path();
        const migrated = await Promise.all([1, 2, 3].map(() => queue.migrate()));
        assert.deepEqual(migrated.map(({ from }) => from), [0, 1, 1]);
        assert.deepEqual(await path(), path0);
        await queue.enqueue({ role: ROLE });
        throw ROLLBACK;
      }),
      ROLLBACK,
    );
  });

  test("using() takes whatever runs SQL with parameters, and no pool", async () => {
    const queue = createQueue(pool, { schema });
    const client = await connect();
    const rows = await count();
    await client.query("begin");
    const bare = { query: (text: string, values?: unknown[]) => client.query(text, values) };
    await queue.using(bare).enqueue([{ role: ROLE, key: "bare" }, { role: ROLE }]);
    await client.query("rollback");
    assert.equal(await count(), rows);
    await client.query("begin");
    const rowsOnly = { query: async (text: string, values?: unknown[]) => (await client.query(text, values)).rows };
    await queue.using(rowsOnly as unknown as Connection).enqueue({ role: ROLE });
    const nothing = { query: () => Promise.resolve([[], []].length) };
    await assert.rejects(queue.using(nothing as unknown as Connection).enqueue({ role: ROLE }), failure("unsupported_connection", "rows"));
    await client.query("rollback");
    assert.equal(await count(), rows);
    const sql = postgres(String(ADDRESS));
    const reserved = await sql.reserve();
    assert.throws(() => createQueue(reserved as unknown as Connection, { schema }), failure("unsupported_connection", "reserved"));
    await reserved.unsafe("begin");
    await queue.using(reserved).enqueue([{ role: ROLE, key: "reserved" }, { role: ROLE }]);
    await reserved.unsafe("rollback");
    reserved.release();
    assert.equal(await count(), rows);
    const mysql = { query() {}, connect() {}, execute() {} };
    for (const no of [pool, sql, mysql, Object.assign(() => {}, { query() {} }), { prepare() {}, exec() {}, query() {}, inTransaction: false }]) {
      assert.throws(() => queue.using(no as unknown as Connection), failure("unsupported_connection", "begin"));
    }
    await sql.end();
  });

  test("only a connection that can begin a transaction, or is one, makes a queue", async () => {
    const bun = (adapter: string) => Object.assign(() => {}, { unsafe() {}, begin() {}, reserve() {}, options: { adapter } });
    assert.equal(createQueue(bun("postgres") as unknown as Connection).dialect, "postgres");
    for (const adapter of ["mysql", "mariadb", "sqlite"]) {
      assert.throws(() => createQueue(bun(adapter) as unknown as Connection), failure("unsupported_connection", "Bun.SQL"));
    }
    const reservedByBun = Object.assign(() => {}, { unsafe() {}, begin() {}, release() {}, options: { adapter: "postgres" } });
    assert.throws(() => createQueue(reservedByBun as unknown as Connection), failure("unsupported_connection", /reserved connection.*its pool.*using/));
    const mysql = { query() {}, connect() {}, execute() {} };
    for (const no of [{ query() {} }, mysql, Object.assign(() => {}, { unsafe() {}, release() {} }), { prepare() {}, exec() {} }]) {
      assert.throws(() => createQueue(no as unknown as Connection), failure("unsupported_connection"));
    }
  });

  test("a queue on one driver works with the transactions of another", async () => {
    const queue: Queue = createQueue(pool, { schema });
    const sql = postgres(String(ADDRESS), { max: 1 });
    atEnd(() => sql.end());
    const rows = Number(await count());
    await sql.begin((transaction) => queue.using(transaction).enqueue({ role: ROLE }));
    assert.equal(await count(), rows + 1);
  });
});

describe("PGlite", () => {
  test("keeps operations out of the transaction of another caller, and loses with it what is in it", async () => {
    await using db = await PGlite.create();
    const queue = createQueue(db);
    await queue.migrate();
    let outside: Promise<unknown> | undefined;
    await assert.rejects(
      db.transaction(async (transaction) => {
        await queue.using(transaction).enqueue({ role: ROLE });
        outside = queue.enqueue({ role: "outside" });
        throw ROLLBACK;
      }),
      ROLLBACK,
    );
    await outside;
    assert.deepEqual((await queue.stats()).roles.map(({ role }) => role), ["outside"]);
  });

  test("is in a transaction of the caller's that begin made, when using() says so", async () => {
    await using db = await PGlite.create();
    const queue = createQueue(db);
    await queue.migrate();
    await db.exec("begin");
    await queue.using(db).enqueue([{ role: ROLE, key: "a" }, { role: ROLE }]);
    await db.exec("rollback");
    assert.deepEqual((await queue.stats()).roles, []);
  });

  test("loses a byte order mark that begins a text, which is why its rows in the matrix go without", async () => {
    await using db = await PGlite.create();
    assert.deepEqual((await db.query("select '\ufeffx' as text")).rows, [{ text: "x" }]);
  });
});

describe("SQLite", () => {
  test("a statement that is finalized behind the queue's back is made again", async () => {
    const db = await openSqlite(":memory:");
    const queue = createQueue(db);
    await queue.migrate();
    for (let round = 0; round < 3; round++) {
      await queue.enqueue([{ role: ROLE }, { role: ROLE }]);
      const claim = acquired(await queue.dequeue({ roles: [ROLE] }));
      for (const statement of [sql.dequeue, sql.enqueue, sql.complete].flatMap(({ sqlite }) => sqlite)) db.query(statement.text).finalize();
      for (const text of ["begin immediate", "commit", "pragma busy_timeout"]) db.query(text).finalize();
      await queue.complete(claim);
    }
    assert.equal((await queue.stats()).roles[0]?.succeeded, 3);
    db.close();
  });

  test("a call after close says that the handle is closed, and ends nothing else", async () => {
    const { default: Libsql } = await import("libsql");
    const { default: BetterSqlite3 } = await import("better-sqlite3");
    for (const db of [new Libsql(":memory:"), new BetterSqlite3(":memory:"), await openSqlite(":memory:")]) {
      const queue = createQueue(db as Connection);
      await queue.migrate();
      await queue.enqueue({ role: ROLE });
      const claim = acquired(await queue.dequeue({ roles: [ROLE] }));
      db.close();
      await assert.rejects(queue.heartbeat(claim), /open|closed/i);
      await assert.rejects(queue.reap(), /open|closed/i);
    }
  });

  test("a handle whose statements answer by promises is refused, not misunderstood", async () => {
    const { default: Database } = await import("libsql/promise");
    const db = new Database(":memory:", {});
    const queue = createQueue(db as unknown as Connection);
    for (const call of [() => queue.migrate(), () => queue.enqueue({ role: ROLE })]) {
      await assert.rejects(call(), failure("unsupported_connection", "synchronous"));
    }
  });
});
