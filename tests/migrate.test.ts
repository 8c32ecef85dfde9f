// Tables made, met and upgraded: by migrate(), by the schema files, by programs of other people.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import SqliteDatabase from "better-sqlite3";
import postgres from "postgres";
import { createQueue, type Queue } from "../mod.ts";
import { createDatabase } from "./support/postgres_server.ts";
import { missing, psqlShell, sqliteShell } from "./support/shells.ts";
import { temporaryFolder } from "./support/temp.ts";

// What the older program knows, and what it runs.
const OLDER = "attempt_id, workflow_id, role, tier, status, pickup_count, locked_by_instance, locked_at, lock_heartbeat_at, started_at, created_at";
const OLDER_PICK = "select attempt_id from workflow_attempts where status = 'pending' and role = 'old' and pickup_count < 3 order by created_at limit 1";
const OLDER_CLAIM = (id: unknown, now: string) =>
  `update workflow_attempts set status = 'in_progress', locked_by_instance = 'old/1', locked_at = ${now}, lock_heartbeat_at = ${now}, started_at = ${now} where attempt_id = ${id} and status = 'pending'`;

/** Enqueues, claims and completes once. */
async function works(queue: Queue): Promise<void> {
  const { attemptId } = await queue.enqueue({ role: "works" });
  const claim = await queue.dequeue({ roles: ["works"] });
  assert.ok(claim.acquired && claim.attemptId === attemptId);
  assert.deepEqual(await queue.heartbeat(claim), { held: true });
  await queue.complete(claim);
}

/** The older program's rows and ours, side by side. */
async function worksWithOlder(queue: Queue, rows: (sql: string) => unknown, now: string): Promise<void> {
  await works(queue);
  const before = await queue.enqueue([{ role: "old" }, { role: "old" }]);
  const [picked] = await rows(OLDER_PICK) as { attempt_id: unknown }[];
  assert.equal(String(picked?.attempt_id), "7", "what was there first comes first");
  await rows(OLDER_CLAIM(picked?.attempt_id, now));
  const ours = await queue.dequeueMany({ roles: ["old"], limit: 9 });
  assert.deepEqual(ours.map(({ attemptId }) => attemptId), ["9", ...before.map(({ attemptId }) => attemptId)]);
  await sleep(20);
  const { requeued } = await queue.reap({ staleAfterMs: 1, limit: 1 });
  assert.deepEqual(requeued.map(({ attemptId, previousInstanceId }) => [attemptId, previousInstanceId]), [["7", "old/1"]]);
}

describe("postgres · migrate", { skip: process.env["DATABASE_URL"] === undefined && "no DATABASE_URL" }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let sql: postgres.Sql;
  const notices: string[] = [];
  const connect = (options: postgres.Options<{}> = {}) => {
    const connection = postgres(database.url, { max: 1, onnotice: ({ message }) => void notices.push(String(message)), ...options });
    after(() => connection.end({ timeout: 1 }));
    return connection;
  };
  const newSchema = async (statements = "") => {
    const schema = `s_${randomUUID().slice(0, 8)}`;
    await sql.unsafe(`create schema ${schema}; set search_path = ${schema}; ${statements}; set search_path = public`);
    return schema;
  };
  const role = async (grants: (name: string) => string) => {
    const name = `skiplocked_${randomUUID().slice(0, 8)}`;
    await sql.unsafe(`create role ${name} login; ${grants(name)}`);
    after(() => sql.unsafe(`drop owned by ${name}; drop role ${name}`));
    return connect({ username: name });
  };
  const shellIn = (schema: string) => {
    const url = new URL(database.url);
    url.searchParams.set("options", `-csearch_path=${schema} -cstandard_conforming_strings=off`);
    return psqlShell(url.href.replaceAll("+", "%20"));
  };
  const rowsIn = (schema: string) => async (text: string) =>
    (await sql.begin(async (on) => (await on.unsafe(`set local search_path = ${schema}`), on.unsafe(text)))) as postgres.RowList<postgres.Row[]>;

  /** Everything that a script makes, as text without the name of the schema. */
  const catalog = async (schema: string) => {
    const rows = await sql.unsafe(`
      with t as (select oid, relname, reloptions, relkind from pg_class where relnamespace = '${schema}'::regnamespace)
      select 'table', relname, relkind, reloptions::text, null from t
      union all select 'column', relname || a.attnum, attname, format_type(atttypid, atttypmod) || coalesce(attstattarget, -1)::text || attidentity::text,
        attnotnull || coalesce(pg_get_expr(adbin, adrelid), '')
      from t join pg_attribute a on attrelid = t.oid and attnum > 0 and not attisdropped left join pg_attrdef on adrelid = t.oid and adnum = attnum
      where relkind = 'r'
      union all select 'index', relname, pg_get_indexdef(oid), null, null from t where relkind = 'i'
      union all select 'constraint', conname, pg_get_constraintdef(oid), null, null from pg_constraint where connamespace = '${schema}'::regnamespace
      union all select 'sequence', sequencename, data_type::text, increment_by::text || min_value || max_value || cycle || cache_size, null
      from pg_sequences where schemaname = '${schema}'`);
    return rows.map((row) => Object.values(row).join(" | ").replaceAll(schema, "SCHEMA")).sort();
  };
  const migrate = async (schema: string, on = sql) => createQueue(on, { schema }).migrate();

  before(async () => {
    database = await createDatabase(String(process.env["DATABASE_URL"]));
    sql = postgres(database.url, { max: 1, onnotice: ({ message }) => void notices.push(String(message)) });
  });
  after(async () => {
    await sql.end();
    await database.drop();
  });

  test("makes what psql -f schema.sql makes, and mixes with it", { skip: missing("psql") }, async () => {
    const [byHand, byCode] = [await newSchema(), await newSchema()];
    shellIn(byHand).script("schema.sql");
    assert.deepEqual(await migrate(byCode), { from: 0, to: 1 });
    const made = await catalog(byCode);
    assert.ok(made.length > 45);
    assert.deepEqual(await catalog(byHand), made);
    assert.deepEqual(await migrate(byHand), { from: 1, to: 1 });
    shellIn(byCode).script("schema.sql");
    for (const schema of [byHand, byCode]) {
      assert.deepEqual(await catalog(schema), made);
      assert.deepEqual([...await sql.unsafe(`select version from ${schema}.skiplocked_schema`)], [{ version: 1 }]);
      await works(createQueue(sql, { schema }));
    }
  });

  test("says nothing, and needs no right to write once the tables are there", async () => {
    const schema = await newSchema();
    notices.length = 0;
    await migrate(schema);
    const reader = await role((name) => `grant usage on schema ${schema} to ${name}; grant select on ${schema}.skiplocked_schema to ${name}`);
    const readOnly = connect({ connection: { default_transaction_read_only: true } });
    for (const on of [sql, reader, readOnly]) assert.deepEqual(await migrate(schema, on), { from: 1, to: 1 });
    assert.deepEqual(notices, []);
  });

  test("eight at once: one makes the tables", async () => {
    const schema = `s_${randomUUID()}`;
    const pools = Array.from({ length: 8 }, () => connect());
    const results = await Promise.all(pools.map((pool) => migrate(schema, pool)));
    assert.deepEqual(results.map(({ from }) => from).sort(), [0, 1, 1, 1, 1, 1, 1, 1]);
  });

  test("in any schema, under any settings, each a queue of its own", async () => {
    const odd = connect({ connection: { search_path: "", standard_conforming_strings: "off", DateStyle: "German", TimeZone: "Asia/Kathmandu", default_transaction_isolation: "serializable" } });
    const names = [`a"b.c d'e\\f`, "select", "Ünïcode", "$1 :name ${x} $$", "s".repeat(63)];
    const queues = names.map((schema) => createQueue(odd, { schema }));
    for (const queue of queues) {
      assert.deepEqual(await queue.migrate(), { from: 0, to: 1 });
      assert.deepEqual(await queue.migrate(), { from: 1, to: 1 });
      await works(queue);
      await queue.enqueue({ role: "one" });
    }
    for (const queue of queues) assert.equal((await queue.dequeueMany({ roles: ["one"], limit: 9 })).length, 1);
    for (const schema of ["s".repeat(64), "ü".repeat(32), ""]) assert.throws(() => createQueue(odd, { schema }), { code: "invalid_argument" });
  });

  test("by a role that owns its schema and may make no other", async () => {
    let schema = "";
    const owner = await role((name) => `create schema ${schema = name} authorization ${name}`);
    await migrate(schema, owner);
    await works(createQueue(owner, { schema }));
    await assert.rejects(migrate(`${schema}_2`, owner), { code: "42501" });
  });

  test("waits for no lock of others, and leaves none", async () => {
    const other = connect();
    await other.unsafe("select pg_advisory_lock(1), pg_advisory_lock(hashtext('skiplocked')), pg_advisory_lock(1, 1)");
    const impatient = connect({ connection: { lock_timeout: 2000 } });
    await migrate(await newSchema(), impatient);
    assert.deepEqual([...await sql.unsafe("select count(*)::int as n from pg_locks where locktype = 'advisory'")], [{ n: 3 }]);
    await other.unsafe("select pg_advisory_unlock_all()");
  });

  test("that fails half-way leaves nothing behind", async () => {
    // The last but one step stumbles: the table belongs to somebody else.
    const schema = await newSchema(older("bigserial primary key"));
    const guest = await role((name) => `grant all on schema ${schema} to ${name}; grant all on all tables in schema ${schema} to ${name}`);
    const before = await catalog(schema);
    await assert.rejects(migrate(schema, guest), { code: "42501" });
    assert.deepEqual(await catalog(schema), before);
    assert.equal((await sql.unsafe("select from pg_locks where locktype = 'advisory'")).length, 0);
    await guest.unsafe("select 1");
  });

  test("refuses tables of a later version, which still work", async () => {
    const schema = await newSchema();
    await migrate(schema);
    await sql.unsafe(`insert into ${schema}.skiplocked_schema (version) values (2)`);
    await assert.rejects(migrate(schema), { code: "schema_too_new", message: /version 2.*version 1.*update the package/ });
    await works(createQueue(sql, { schema }));
  });

  for (const theirs of [
    "create table workflows (id int)",
    "create table workflows (workflow_id bigint, status text, stuck_reason text, created_at timestamp, updated_at timestamp)",
    "create table workflow_attempts (id int)",
    `create table workflow_attempts (${older("uuid primary key").replace(/.*?\(/, "")}`,
    "create view workflow_attempts as select 1 as attempt_id",
    "create table skiplocked_schema (name text)",
    "create table skiplocked_schema (version text); insert into skiplocked_schema values ('one')",
  ]) {
    test(`refuses what is in the way and changes nothing: ${theirs.slice(0, 70)}`, async () => {
      const schema = await newSchema(theirs);
      const before = await catalog(schema);
      const queue = createQueue(sql, { schema });
      await assert.rejects(queue.migrate(), { code: "schema_conflict", message: /in the way/ });
      assert.deepEqual(await catalog(schema), before);
    });
  }

  test("refuses in a transaction of the caller's, which goes on", async () => {
    const schema = await newSchema("create table workflows (id int)");
    await sql.begin(async (transaction) => {
      await assert.rejects(createQueue(sql, { schema }).using(transaction).migrate(), { code: "schema_conflict" });
      await transaction.unsafe("select 1");
    });
  });

  test("in a transaction of the caller's is part of it, and leaves its settings", async () => {
    const schema = `s_${randomUUID()}`;
    const settings = { search_path: `"$user", x`, client_min_messages: "debug1", role: "none" };
    const seen = async (on: postgres.Sql | postgres.TransactionSql) =>
      Object.fromEntries(await Promise.all(Object.keys(settings).map(async (name) => [name, (await on.unsafe(`show ${name}`))[0]?.[name]])));
    const before = await seen(sql);
    const rollback = new Error("rollback");
    await assert.rejects(sql.begin(async (transaction) => {
      for (const [name, value] of Object.entries(settings)) await transaction.unsafe(`select set_config('${name}', '${value}', true)`);
      const queue = createQueue(sql, { schema }).using(transaction);
      assert.deepEqual(await queue.migrate(), { from: 0, to: 1 });
      assert.deepEqual(await seen(transaction), settings);
      await works(queue);
      throw rollback;
    }), rollback);
    assert.deepEqual(await seen(sql), before);
    assert.deepEqual(await migrate(schema), { from: 0, to: 1 });
  });

  for (const [id, rest] of [
    ["bigserial primary key", ""], ["serial primary key", ""], ["bigint generated always as identity primary key", "overriding system value"],
    ["bigint generated by default as identity", ""], ["integer", ""], ["bigint primary key", ""],
  ] as const) {
    test(`takes over the older program's table: attempt_id ${id}`, async () => {
      const schema = await newSchema(`${older(id)}; insert into workflow_attempts (${OLDER}) ${rest} values
        (7, 100, 'old', 3, 'pending', 0, null, null, null, null, '2020-01-01'), (9, 101, 'old', null, null, null, null, null, null, null, null),
        (8, 100, 'other', 1, 'in_progress', 2, 'x', '2020-01-01', '2020-01-02', '2020-01-01', '2020-01-01')`);
      await sql.unsafe(`select setval(s, 9) from (select pg_get_serial_sequence('${schema}.workflow_attempts', 'attempt_id') as s) as s where s is not null`);
      const rows = rowsIn(schema);
      const kept = `select ${OLDER} from workflow_attempts where attempt_id <> 9 order by 1`;
      const before = [...await rows(kept)];
      notices.length = 0;
      assert.deepEqual(await migrate(schema), { from: 0, to: 1 });
      assert.deepEqual([...await rows(kept)], before);
      const columns = (await catalog(schema)).filter((line) => line.startsWith("column | workflow_attempts"));
      assert.equal(columns.length, 21);
      await worksWithOlder(createQueue(sql, { schema }), rows, "now()");
      const { workflowId } = await createQueue(sql, { schema }).enqueue({ role: "new" });
      assert.ok(Number(workflowId) > 101, "no number of a workflow that the older program knows");
      assert.deepEqual(notices, []);
    });
  }

  test("a heartbeat touches no index and is HOT", async () => {
    const schema = await newSchema();
    await migrate(schema);
    const queue = createQueue(sql, { schema });
    const indexes = await sql.unsafe(`select from pg_indexes where schemaname = '${schema}' and indexdef like '%heartbeat%'`);
    assert.equal(indexes.length, 0);
    await queue.enqueue(Array.from({ length: 1000 }, () => ({ role: "r", payload: { text: "x".repeat(100) } })));
    const claims = await queue.dequeueMany({ roles: ["r"], limit: 100 });
    const counts = async () => {
      await sql.unsafe("select pg_stat_force_next_flush()");
      const [row] = await sql.unsafe(`select pg_stat_get_tuples_updated(t) as all, pg_stat_get_tuples_hot_updated(t) as hot from (select '${schema}.workflow_attempts'::regclass as t) as t`);
      return [Number(row?.["all"]), Number(row?.["hot"])] as const;
    };
    const [all, hot] = await counts();
    for (let round = 0; round < 20; round++) await queue.heartbeat(claims);
    const [allNow, hotNow] = await counts();
    assert.equal(allNow - all, 2000);
    assert.ok(hotNow - hot >= 1900, `${hotNow - hot} of 2000 were HOT`);
  });

  test("columns are those of SQLite, in their order", async () => {
    const schema = await newSchema();
    await migrate(schema);
    const db = new SqliteDatabase(":memory:");
    await createQueue(db).migrate();
    for (const table of ["workflows", "workflow_attempts", "skiplocked_schema"]) {
      const theirs = db.prepare(`select name from pragma_table_info('${table}')`).pluck().all();
      const ours = await sql.unsafe(`select attname from pg_attribute where attrelid = '${schema}.${table}'::regclass and attnum > 0 order by attnum`);
      assert.deepEqual(ours.map((row) => row["attname"]), theirs);
    }
  });
});

/** The older program's table, as careless as it may be. */
function older(id: string, time = "timestamptz"): string {
  return `create table workflow_attempts (attempt_id ${id}, workflow_id bigint, role text, tier integer, status text, pickup_count integer,
    locked_by_instance text, locked_at ${time}, lock_heartbeat_at ${time}, started_at ${time}, created_at ${time})`;
}

describe("sqlite file · migrate", () => {
  const newFile = () => join(temporaryFolder("migrate"), "queue.db");
  const open = (statements = "", file = ":memory:") => {
    const db = new SqliteDatabase(file);
    db.exec(statements);
    return db;
  };
  const migrate = (db: SqliteDatabase.Database) => createQueue(db).migrate();
  const catalog = (db: SqliteDatabase.Database) => {
    const tables = db.prepare("select name, type, sql from sqlite_schema where name not like 'sqlite_%' order by name").all() as { name: string; type: string; sql: string }[];
    return tables.map(({ name, type, sql }) => ({
      name,
      type,
      sql: sql.replaceAll(/--.*/g, "").replaceAll(/\s+/g, " ").replaceAll(" ,", ","),
      columns: db.prepare(`select * from pragma_table_info('${name}')`).all(),
    }));
  };

  test("makes what .read schema.sql makes, and mixes with it", { skip: missing("sqlite3") }, async () => {
    const file = newFile();
    const shell = sqliteShell(file);
    assert.equal(shell.script("schema.sql"), "");
    const [byHand, byCode] = [open("", file), open()];
    assert.deepEqual(await migrate(byCode), { from: 0, to: 1 });
    const made = catalog(byCode);
    assert.ok(made.length > 10);
    assert.deepEqual(catalog(byHand), made);
    assert.deepEqual(await migrate(byHand), { from: 1, to: 1 });
    assert.equal(shell.script("schema.sql"), "");
    assert.deepEqual(catalog(byHand), made);
    assert.deepEqual(shell.sql("select version from skiplocked_schema"), [{ version: "1" }]);
    await works(createQueue(byHand));
  });

  test("writes nothing once the tables are there, also where nothing may be written", async () => {
    const file = newFile();
    await migrate(open("", file));
    const reader = new SqliteDatabase(file, { readonly: true });
    assert.deepEqual(await migrate(reader), { from: 1, to: 1 });
  });

  test("eight processes at once: one makes the tables", async () => {
    const file = newFile();
    const code = `import { openSqlite } from "./src/sqlite.ts"; import { createQueue } from "./mod.ts";
      console.log((await createQueue(await openSqlite(${JSON.stringify(file)})).migrate()).from)`;
    const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "--eval", code];
    const root = new URL("..", import.meta.url);
    const runs = Array.from({ length: 8 }, () => promisify(execFile)(process.execPath, args, { cwd: root, env: { ...process.env, NODE_TEST_CONTEXT: undefined } }));
    const results = (await Promise.all(runs)).map(({ stdout }) => stdout.trim()).sort();
    assert.deepEqual(results, ["0", "1", "1", "1", "1", "1", "1", "1"]);
  });

  test("in a transaction of the caller's is part of it", async () => {
    const db = open("begin");
    assert.deepEqual(await migrate(db), { from: 0, to: 1 });
    await works(createQueue(db).using(db));
    db.exec("rollback");
    assert.deepEqual(catalog(db), []);
  });

  test("refuses tables of a later version, which still work", async () => {
    const db = open();
    await migrate(db);
    db.exec("insert into skiplocked_schema (version) values (2)");
    await assert.rejects(migrate(db), { code: "schema_too_new", message: /version 2.*version 1.*update the package/ });
    await works(createQueue(db));
  });

  for (const theirs of [
    "create table workflows (id int)",
    "create table workflow_attempts (id int)",
    older("text primary key", "text"),
    "create view workflow_attempts as select 1 as attempt_id",
    "create table skiplocked_schema (name text)",
    "create table skiplocked_schema (version text); insert into skiplocked_schema values ('one')",
  ]) {
    test(`refuses what is in the way and changes nothing: ${theirs.slice(0, 70)}`, async () => {
      const db = open(theirs);
      const before = catalog(db);
      await assert.rejects(migrate(db), { code: "schema_conflict", message: /in the way/ });
      assert.deepEqual(catalog(db), before);
      assert.ok(!db.inTransaction);
    });
  }

  test("that fails half-way leaves nothing behind", async () => {
    const db = open("create table workflows_created_at (x)");
    const before = catalog(db);
    await assert.rejects(migrate(db));
    assert.deepEqual(catalog(db), before);
    assert.ok(!db.inTransaction);
  });

  for (const id of ["integer primary key", "integer primary key autoincrement"]) {
    test(`takes over the older program's table: attempt_id ${id}`, { skip: missing("sqlite3") }, async () => {
      const file = newFile();
      const rows = `insert into workflow_attempts (${OLDER}) values
        (7, 100, 'old', 3, 'pending', 0, null, null, null, null, '2020-01-01 00:00:00'), (9, 101, 'old', null, null, null, null, null, null, null, null),
        (8, 100, 'other', 1, 'in_progress', 2, 'x', '2020-01-01T00:00:00Z', '2020-01-02', '2020-01-01', '2020-01-01')`;
      const [byCode, byHand] = [open(`${older(id, "text")}; ${rows}`), open(`${older(id, "text")}; ${rows}`, file)];
      const kept = `select ${OLDER} from workflow_attempts where attempt_id <> 9 order by 1`;
      const before = byCode.prepare(kept).all();
      assert.deepEqual(await migrate(byCode), { from: 0, to: 1 });
      for (const script of ["adopt.sql", "schema.sql"]) assert.equal(sqliteShell(file).script(script), "");
      assert.deepEqual(catalog(byHand), catalog(byCode));
      assert.equal(byCode.prepare("select count(*) from pragma_table_info('workflow_attempts')").pluck().get(), 21);
      for (const db of [byCode, byHand]) {
        assert.deepEqual(db.prepare(kept).all(), before);
        await worksWithOlder(createQueue(db), (text) => /^select/.test(text) ? db.prepare(text).all() : db.exec(text), "datetime('now')");
        const { workflowId } = await createQueue(db).enqueue({ role: "new" });
        assert.ok(Number(workflowId) > 101, "no number of a workflow that the older program knows");
      }
    });
  }

  test("no index holds what a heartbeat writes", async () => {
    const db = open();
    await migrate(db);
    assert.deepEqual(catalog(db).filter(({ type, sql }) => type === "index" && sql.includes("heartbeat")), []);
  });
});
