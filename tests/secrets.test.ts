// What errors say may be logged: no password of a connection, and nothing of a payload.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { after, describe, test } from "node:test";
import { inspect } from "node:util";
import pg from "pg";
import postgres from "postgres";
import { type Connection, createQueue, type Lease, type Queue } from "../mod.ts";
import { openSqlite } from "../src/sqlite.ts";

const SECRET = "hunter2";
const NO_SERVER = `postgres://me:${SECRET}@127.0.0.1:1/db`;
const LEASE: Lease = { attemptId: "1", instanceId: "me", fencingToken: "1" };
const WITH_SECRETS: ((queue: Queue) => Promise<unknown>)[] = [
  (queue) => queue.enqueue({ role: "r", payload: { password: SECRET } }),
  (queue) => queue.enqueue([{ role: "r", payload: SECRET }, { role: "r", workflowId: 4711, payload: [SECRET] }]),
  (queue) => queue.complete(LEASE, { result: SECRET, next: [{ role: "r", payload: SECRET }] }),
  (queue) => queue.fail(LEASE, { error: new Error(SECRET), result: { [SECRET]: 1 } }),
];

async function saysNothing(queue: Queue, calls: typeof WITH_SECRETS = WITH_SECRETS): Promise<string[]> {
  return await Promise.all(calls.map(async (refused) => {
    const error = await refused(queue).then(() => assert.fail(), (thrown) => thrown);
    const said = `${inspect(error, { depth: 9 })} ${error.message} ${error.stack} ${JSON.stringify(error)} ${inspect(error.cause)}`;
    assert.ok(!said.includes(SECRET), said);
    return error.code;
  }));
}

describe("secrets", () => {
  test("what is no connection is refused without the URL in it", () => {
    for (const given of [NO_SERVER, new URL(NO_SERVER), { connectionString: NO_SERVER }, Promise.resolve(NO_SERVER), [NO_SERVER]]) {
      assert.throws(() => createQueue(given as unknown as Connection), (error) => !inspect(error).includes(SECRET));
    }
  });

  test("without a server", async () => {
    const sql = postgres(NO_SERVER, { max: 1, connect_timeout: 1 });
    const pool = new pg.Pool({ connectionString: NO_SERVER });
    for (const connection of [sql, pool]) assert.deepEqual([...new Set(await saysNothing(createQueue(connection)))], ["ECONNREFUSED"]);
    await sql.end();
    await pool.end();
  });

  test("on SQLite, without tables and with them", async () => {
    const queue = createQueue(await openSqlite(":memory:"));
    assert.deepEqual([...new Set(await saysNothing(queue))], ["schema_missing"]);
    await queue.migrate();
    // The first is no error with tables.
    assert.deepEqual(await saysNothing(queue, WITH_SECRETS.slice(1)), ["not_found", "lease_lost", "lease_lost"]);
  });

  test("on Postgres: no tables, refusals, and errors of the server, which keep their SQLSTATE", { skip: !process.env["DATABASE_URL"] && "no DATABASE_URL" }, async () => {
    const schema = `secrets_${randomUUID()}`;
    const sql = postgres(String(process.env["DATABASE_URL"]), { max: 2, onnotice() {} });
    const pool = new pg.Pool({ connectionString: String(process.env["DATABASE_URL"]), max: 2 });
    after(async () => {
      await sql.unsafe(`drop schema if exists "${schema}" cascade`);
      await sql.end();
      await pool.end();
    });
    for (const connection of [sql, pool]) assert.deepEqual([...new Set(await saysNothing(createQueue(connection, { schema })))], ["schema_missing"]);
    await createQueue(sql, { schema }).migrate();
    // 54000 is also what too large a payload gets: nobody is told then that a role is too long.
    for (const state of ["54000", "57014", "P0001"]) {
      await sql.unsafe(`set search_path = "${schema}";
        create or replace function boom() returns trigger language plpgsql as 'begin raise exception ''boom'' using errcode = ''${state}''; end';
        create or replace trigger boom before insert or update on workflow_attempts execute function boom(); reset search_path`);
      for (const connection of [sql, pool]) assert.deepEqual([...new Set(await saysNothing(createQueue(connection, { schema })))], [state]);
    }
  });
});
