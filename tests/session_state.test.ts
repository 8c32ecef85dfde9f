// What the library leaves on a connection of Postgres: nothing, so that a pooler may hand each transaction to another one.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { after, describe, test } from "node:test";
import pg from "pg";
import postgres from "postgres";
import { type Connection, createQueue } from "../mod.ts";
import { live } from "./support/life.ts";

const URL_GIVEN = process.env["DATABASE_URL"];
const LEFT = {
  settings: "select name, setting from pg_settings where name not like 'plpgsql.%' order by name",
  prepared: "select name from pg_prepared_statements where statement like '%workflow%'",
  cursors: "select name from pg_cursors where statement not like '%pg_cursors%'",
  locks: "select locktype from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'",
  temporary: "select relname from pg_class where relpersistence = 't'",
  listening: "select pg_listening_channels()",
};

describe("postgres.js · session state", { skip: URL_GIVEN === undefined && "no DATABASE_URL" }, () => {
  const newSchema = (sql: postgres.Sql) => {
    const schema = `session_${randomUUID()}`;
    after(async () => {
      await sql.unsafe(`drop schema if exists "${schema}" cascade`);
      await sql.end();
    });
    return schema;
  };

  test("a life, with everything that can be refused, leaves a connection as it was", async () => {
    const sql = postgres(String(URL_GIVEN), { max: 1, prepare: false, onnotice() {} });
    const schema = newSchema(sql);
    const left = async () => await Promise.all(Object.values(LEFT).map(async (text) => [...await sql.unsafe(text)]));
    const before = await left();
    await live(createQueue(sql, { schema }));
    assert.deepEqual(await left(), before);
  });

  test("each transaction may run on another connection", async () => {
    const eyes = postgres(String(URL_GIVEN), { max: 1, onnotice() {} });
    const schema = newSchema(eyes);
    const clients = await Promise.all([1, 2, 3].map(async () => {
      const client = new pg.Client({ connectionString: String(URL_GIVEN), application_name: schema });
      await client.connect();
      return client;
    }));
    after(() => Promise.all(clients.map((client) => client.end())));
    await live(createQueue(pooler(clients), { schema }));
    const backends = await eyes.unsafe(`select pid from pg_stat_activity where query <> '' and application_name = '${schema}'`);
    assert.equal(backends.length, clients.length);
  });

  test("two schemas migrate without waiting for each other, and a failed migration keeps nobody out", async () => {
    const [sql, other] = [postgres(String(URL_GIVEN), { max: 2, onnotice() {} }), postgres(String(URL_GIVEN), { max: 2, onnotice() {} })];
    const [one, two] = [newSchema(sql), newSchema(other)];
    await sql.begin(async (transaction) => {
      await createQueue(sql, { schema: one }).using(transaction).migrate();
      assert.deepEqual(await createQueue(other, { schema: two }).migrate(), { from: 0, to: 1 });
    });
    const three = `${one}_3`;
    await sql.unsafe(`create schema "${three}"; create sequence "${three}".workflows_workflow_id_seq`);
    await assert.rejects(createQueue(sql, { schema: three }).migrate(), { code: "42P07" });
    await other.unsafe(`drop sequence "${three}".workflows_workflow_id_seq`);
    assert.deepEqual(await createQueue(other, { schema: three }).migrate(), { from: 0, to: 1 });
    await other.unsafe(`drop schema "${three}" cascade`);
  });

  test("no query listens, notifies, or sets something for longer than a transaction", () => {
    const folder = new URL("../sql/postgres/", import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".sql"));
    assert.ok(files.length > 10);
    for (const file of files) {
      const code = readFileSync(new URL(file, folder), "utf8").replaceAll(/--.*/g, "");
      assert.doesNotMatch(code, /\b(notify|listen|pg_notify|declare\s+\w+\s+cursor|temp(orary)?\s+table|pg_advisory_lock|pg_try_advisory_lock)\b|^\s*set\s+(?!local\b)\w+\s*(=|to)\s*\w+\s*;/im, file);
    }
  });
});

/** Hands each transaction, and each statement outside of one, to the next client, as PgBouncer does with pool_mode = transaction. */
function pooler(clients: pg.Client[]): Connection {
  let turn = 0;
  const next = () => clients[turn++ % clients.length]!;
  const pool = {
    totalCount: clients.length,
    query: (query: pg.QueryConfig) => next().query(query),
    connect: () => Promise.resolve({ query: session(), connect: () => {}, on() {}, removeListener() {}, release() {} }),
  };
  return pool as unknown as Connection;

  function session() {
    let held: pg.Client | undefined;
    return async (query: string | pg.QueryConfig) => {
      const client = held ?? next();
      if (typeof query === "string" && query.startsWith("begin")) held = client;
      if (query === "commit" || query === "rollback") held = undefined;
      return await client.query(query as string);
    };
  }
}
