// The types that the headers of sql/*/queries declare, held against what the databases say and give.
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import SqliteDatabase from "better-sqlite3";
import postgres from "postgres";
import { createQueue } from "../mod.ts";
import type { BaseType, Statement } from "../src/query.ts";
import { decodeRows, namedParams, textParams } from "../src/rows.ts";
import { createDatabase } from "./support/postgres_server.ts";
import { queries } from "./support/shells.ts";

const TEXT = 25;
// A limit is compared as a bigint, since its double may be needed.
const OIDS: Record<BaseType, number[]> = { id: [20], int: [23, 20], ms: [701], bool: [16], text: [TEXT], json: [3802] };
const INT_MAX = 2 ** 31 - 1;
const INT_MIN = -(2 ** 31);
const ID_MAX = "9223372036854775807";
const CENTURY_MS = 36_525 * 86_400_000;
const TIMES = ["created_at", "oldest_pending_ms", "oldest_heartbeat_ms"];

type Row = Record<string, unknown>;
type Params = Record<string, unknown>;

/** A database that gives rows as they come over the wire. */
interface Wire {
  run(statements: readonly Statement[], params: Params): Promise<Row[]>;
  sql(text: string): Promise<unknown>;
}

interface Step {
  name: string;
  params: Params;
  raw: Row[];
  rows: Row[];
}

/** Takes every query through every null that it declares, and to the ends of its types. */
async function scenario(dialect: "postgres" | "sqlite", wire: Wire): Promise<Step[]> {
  const steps: Step[] = [];
  const run = async (name: string, params: Params = {}): Promise<Row[]> => {
    const query = queries.get(name)!.query;
    const raw = await wire.run(query[dialect], params);
    const rows = decodeRows(query, raw) as Row[];
    steps.push({ name, params, raw, rows });
    return rows;
  };
  const enqueue = (...work: Params[]) => run("enqueue", { work: JSON.stringify(work) });
  const claims = { instance_id: "host/1/é", max_pickups: INT_MAX };
  const dequeue = async (role: string, params: Params = {}) =>
    (await run("dequeue", { ...claims, roles: JSON.stringify([role]), ...params }))[0]!;
  const lease = ({ attempt_id, instance_id, fencing_token }: Row) => ({ attempt_id, instance_id, fencing_token });
  const ending = { outcome: null, result: null };
  const complete = (claim: Row, params: Params = {}) => run("complete", { ...lease(claim), ...ending, next: null, ...params });
  const fail = (claim: Row, params: Params = {}) =>
    run("fail", { ...lease(claim), ...ending, error: null, retry: false, delay_ms: null, tier: null, ...params });
  const reap = (params: Params = {}) => run("reap", { stale_after_ms: CENTURY_MS, max_pickups: 1, max_reaped: null, ...params });

  await run("stats");
  await run("attempt_by_key", { key: "k" });
  await dequeue("a");
  await enqueue(
    { role: "a", tier: INT_MAX, priority: INT_MIN, payload: { n: [1, null, "é"] }, key: "k" },
    { role: "a", tier: INT_MIN, priority: INT_MAX, delay_ms: CENTURY_MS, key: "l" },
    { role: "a", payload: null }, { role: "a", payload: "text", run_at: "9999-12-31T23:59:59.999Z" },
    { role: "b", key: "k" }, { role: "b", workflow_id: null, key: null },
  );
  await enqueue({ role: "a", workflow_id: ID_MAX });
  await run("attempt_by_key", { key: "k" });
  const first = await dequeue("a");
  await complete(first, { outcome: "ok", result: "[0.1]", next: JSON.stringify([{ role: "c", tier: INT_MIN, payload: 0 }]) });
  await complete(await dequeue("a"));
  await fail(await dequeue("c"), { outcome: "o", error: "e", result: "false", retry: true, delay_ms: CENTURY_MS, tier: INT_MAX });
  await fail(await dequeue("b"));
  await enqueue({ role: "d", tier: 1, key: "m", payload: { a: 1 } }, { role: "d" });
  const many = await run("dequeue_many", { ...claims, roles: '["d","a"]', max_claims: INT_MAX });
  await run("heartbeat", { leases: JSON.stringify([...many, first].map(lease)) });
  await run("stats");
  await run("release", lease(many.find(({ key }) => key === null)!));
  await fail(many.find(({ key }) => key === "m")!, { outcome: "worker-internal-error" });
  await run("stats");

  // Exhausted with an owner and a key, which somebody else then takes; and without an owner, by the other program.
  const [exhausted] = await reap({ max_reaped: INT_MAX });
  await wire.sql("update workflow_attempts set pickup_count = 3 where role = 'd' and status = 'pending'");
  await dequeue("d", { max_pickups: 3 });
  await reap({ max_pickups: 3 });
  await enqueue({ role: "e", key: "m" });
  const retry = () => run("retry", { workflow_id: exhausted?.["workflow_id"] });
  await retry();
  await run("cancel", { workflow_id: (await run("attempt_by_key", { key: "m" }))[0]?.["workflow_id"] });
  await retry();
  await retry();
  for (const name of ["retry", "cancel"]) await run(name, { workflow_id: ID_MAX });
  await enqueue({ role: "a", workflow_id: exhausted?.["workflow_id"] });
  for (const max_pruned of [INT_MAX, null]) await run("prune", { older_than_ms: CENTURY_MS, max_pruned });
  await run("prune", { older_than_ms: 0, max_pruned: 1 });

  const [huge, hugeToken] = ["9223372036854775806", "9223372036854775805"];
  await wire.sql(`insert into workflow_attempts (attempt_id, workflow_id, role, fencing_token)
    values (${huge}, ${ID_MAX}, 'huge', ${hugeToken})`);
  const claim = await dequeue("huge");
  assert.deepEqual([claim["attempt_id"], claim["workflow_id"], claim["fencing_token"]], [huge, ID_MAX, huge]);
  await run("heartbeat", { leases: JSON.stringify([lease(claim)]) });
  await complete(claim);
  await run("stats");
  return steps;
}

const sqliteWire = (db: SqliteDatabase.Database): Wire => ({
  run: async (statements, params) => db.transaction(() => statements.flatMap((statement) => {
    const prepared = db.prepare(statement.text);
    const named = namedParams(statement.params, params);
    if (statement.rows) return prepared.safeIntegers().all(named) as Row[];
    prepared.run(named);
    return [];
  })).immediate(),
  sql: async (text) => db.exec(text),
});

const postgresWire = (sql: postgres.Sql): Wire => ({
  run: (statements, params) => sql.begin(async (transaction) => {
    const rows: Row[] = [];
    for (const { text, params: names, rows: gives } of statements) {
      const some = await transaction.unsafe(inPublic(text), textParams(names, params), { prepare: true });
      if (gives) rows.push(...some);
    }
    return rows;
  }) as Promise<Row[]>,
  sql: (text) => sql.unsafe(text),
});

function inPublic(text: string): string {
  return text.replaceAll('"@schema"', "public").replaceAll('"@schema-literal"', "public");
}

/** What is the same for both dialects once the steps were run: `isWire` tells whether a value has the declared type. */
function testSteps(steps: () => readonly Step[], isWire: (type: BaseType, value: unknown) => boolean): void {
  test("every query was run", () => {
    assert.deepEqual(new Set(steps().map(({ name }) => name)), new Set(queries.keys()));
  });

  test("columns come under their names, in their order, with their types", () => {
    for (const { name, raw } of steps()) {
      const columns = queries.get(name)!.query.columns;
      for (const row of raw) {
        assert.deepEqual(Object.keys(row), columns.map(([column]) => column), name);
        for (const [column, type] of columns) {
          const fits = row[column] === null ? type.endsWith("?") : isWire(type.replace("?", "") as BaseType, row[column]);
          assert.ok(fits, `${name}.${column} is ${type}, got ${String(row[column])}`);
        }
      }
    }
  });

  test("a ? means that null and not null both happen, of columns and of parameters", () => {
    for (const [name, { header }] of queries) {
      const mine = steps().filter((step) => step.name === name);
      const rows = [header.rows, mine.flatMap(({ raw }) => raw)] as const;
      const params = [header.params, mine.map((step) => step.params)] as const;
      for (const [fields, values] of [rows, params]) {
        for (const field of fields) {
          const seen = new Set(values.map((value) => value[field.name] === null));
          assert.deepEqual(seen, new Set(field.type.endsWith("?") ? [true, false] : [false]), `${name}: ${field.name} ${field.type}`);
        }
      }
    }
  });
}

function isText(type: BaseType, value: string): boolean {
  if (type === "json") return JSON.parse(value) !== undefined;
  return type === "text" || (type === "bool" ? /^(true|false)$/ : /^-?\d+$/).test(value);
}

async function onSqlite(): Promise<Step[]> {
  const db = new SqliteDatabase(":memory:");
  await createQueue(db).migrate();
  return scenario("sqlite", sqliteWire(db));
}

describe("better-sqlite3 12 · sql types", () => {
  let steps: Step[];
  before(async () => (steps = await onSqlite()));

  testSteps(() => steps, (type, value) => {
    if (typeof value === "bigint") return type === "int" || type === "ms" || type === "bool" && (value === 0n || value === 1n);
    return typeof value === "string" && !["int", "ms", "bool"].includes(type) && isText(type, value);
  });

  test("statements say which columns they have", async () => {
    const db = new SqliteDatabase(":memory:");
    await createQueue(db).migrate();
    for (const { query } of queries.values()) {
      for (const { text, rows } of query.sqlite) {
        const prepared = db.prepare(text);
        assert.equal(prepared.reader, rows, query.name);
        if (rows) assert.deepEqual(prepared.columns().map(({ name }) => name), query.columns.map(([name]) => name), query.name);
      }
    }
  });
});

describe("postgres.js · sql types", { skip: process.env["DATABASE_URL"] === undefined && "no DATABASE_URL" }, () => {
  let sql: postgres.Sql;
  let drop: () => Promise<void>;
  let steps: Step[];

  before(async () => {
    const database = await createDatabase(String(process.env["DATABASE_URL"]));
    sql = postgres(database.url, { max: 1, onnotice: (notice) => console.error("NOTICE", notice["message"]) });
    drop = () => sql.end().then(database.drop);
    await createQueue(sql).migrate();
    steps = await scenario("postgres", postgresWire(sql));
  });
  after(() => drop?.());

  testSteps(() => steps, (type, value) => typeof value === "string" && isText(type, value));

  test("parameters and columns of the generated texts are text", async () => {
    for (const { query } of queries.values()) {
      for (const { text, params, rows } of query.postgres) {
        const { types, columns } = await sql.unsafe(inPublic(text), params.map(() => null), { prepare: true }).describe();
        assert.deepEqual(types, params.map(() => TEXT), query.name);
        if (!rows) continue;
        assert.deepEqual(columns.map(({ name, type }) => [name, type]), query.columns.map(([name]) => [name, TEXT]), query.name);
      }
    }
  });

  test("parameters of the files have the declared types", async () => {
    for (const { header, query } of queries.values()) {
      for (const { text, params } of query.postgres) {
        // As in the file: the first use of a parameter tells its type.
        const asWritten = inPublic(text).replaceAll(/cast\((\$\d+) as pg_catalog\.text\)/g, "$1");
        const { types } = await sql.unsafe(asWritten, params.map(() => null), { prepare: true }).describe();
        for (const [place, name] of params.entries()) {
          const type = header.params.find((param) => param.name === name)?.type.replace("?", "") as BaseType;
          const taken = Number(types[place]);
          assert.ok(OIDS[type].includes(taken), `${query.name}: ${name} is declared ${type}, Postgres takes type ${taken}`);
        }
      }
    }
  });

  test("gives what SQLite gives", async () => {
    const comparable = ({ name, params, rows }: Step) => {
      const times = (row: Row) => TIMES.filter((time) => typeof (row[time] ?? null) !== "object").map((time) => [time, "some"]);
      const same = rows.map((row) => ({ ...row, ...Object.fromEntries(times(row)) }));
      // In no order, or in parts.
      if (name === "dequeue_many" || name === "reap") same.sort((a: Row, b: Row) => Number(a["attempt_id"]) - Number(b["attempt_id"]));
      const sum = (column: string) => rows.reduce((total, row) => total + Number(row[column]), 0);
      return { name, params, rows: name === "prune" ? [sum("workflows"), sum("attempts")] : same };
    };
    const theirs = await onSqlite();
    for (const [place, step] of steps.entries()) assert.deepEqual(comparable(step), comparable(theirs[place]!), step.name);
  });
});
