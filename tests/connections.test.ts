// What a driver's own shape asks for, beyond the suite that every connection passes.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import postgres from "postgres";
import { type Connection, createQueue, type Queue } from "../mod.ts";
import { failure } from "./conformance/support.ts";

const URL = process.env["DATABASE_URL"];
const ROLE = "builder";
const ROLLBACK = new Error("rolled back on purpose");

describe("connections of Postgres", { skip: URL === undefined && "no DATABASE_URL" }, () => {
  const schema = `test_${randomUUID()}`;
  const pool = new pg.Pool({ connectionString: String(URL), max: 3 });
  const count = async () => (await pool.query(`select 1 from "${schema}".workflow_attempts`)).rowCount;
  const connect = async () => {
    const client = new pg.Client({ connectionString: String(URL) });
    await client.connect();
    after(() => client.end().catch(() => {}));
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

  test("what failed in a transaction that the caller began is told as it is, and not tried again", async () => {
    const client = await connect();
    const blocker = await connect();
    const queue = createQueue(client, { schema });
    const { workflowId } = await queue.enqueue({ role: ROLE });
    await blocker.query("begin");
    await blocker.query(`update "${schema}".workflows set updated_at = updated_at where workflow_id = ${workflowId}`);
    await client.query("begin isolation level repeatable read");
    await client.query(`select 1 from "${schema}".workflows`);
    const waiting = queue.cancel(workflowId);
    await blocker.query("commit");
    await assert.rejects(waiting, { code: "40001" });
    assert.equal(client.getTransactionStatus(), "E");
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
    const lone = new pg.Pool({ connectionString: String(URL), max: 1 });
    after(() => lone.end());
    lone.on("error", () => {});
    const queue = createQueue(lone, { schema });
    const { workflowId } = await queue.enqueue({ role: ROLE });
    const blocker = await connect();
    await blocker.query("begin");
    await blocker.query(`update "${schema}".workflows set updated_at = updated_at where workflow_id = ${workflowId}`);
    const waiting = assert.rejects(queue.cancel(workflowId), { code: "57P01" });
    await untilBlocked(blocker);
    await blocker.query("select pg_terminate_backend(pid) from pg_locks where not granted");
    await waiting;
    await blocker.query("rollback");
    await queue.cancel(workflowId);
  });

  test("migrations at once in one transaction leave its search_path as it was", async () => {
    const sql = postgres(String(URL), { max: 1, onnotice: () => {} });
    after(() => sql.end());
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
    await queue.using(bare as Connection).enqueue([{ role: ROLE, key: "bare" }, { role: ROLE }]);
    await client.query("rollback");
    assert.equal(await count(), rows);
    const sql = postgres(String(URL));
    const pglite = { query() {}, exec() {}, transaction() {} };
    for (const no of [pool, sql, pglite, { prepare() {}, exec() {}, query() {}, inTransaction: false }]) {
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
    for (const no of [{ query() {} }, Object.assign(() => {}, { unsafe() {}, release() {} }), { prepare() {}, exec() {} }]) {
      assert.throws(() => createQueue(no as unknown as Connection), failure("unsupported_connection"));
    }
  });

  test("a queue on one driver works with the transactions of another", async () => {
    const queue: Queue = createQueue(pool, { schema });
    const sql = postgres(String(URL), { max: 1 });
    after(() => sql.end());
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

  test("loses a byte order mark that begins a text, which is why its rows in the matrix go without", async () => {
    await using db = await PGlite.create();
    assert.deepEqual((await db.query("select '\ufeffx' as text")).rows, [{ text: "x" }]);
  });
});

async function untilBlocked(client: pg.Client): Promise<void> {
  while ((await client.query("select 1 from pg_locks where not granted")).rowCount === 0);
}
