// A claim costs the same whatever waits: asserted on what the plans read, not on time.
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import SqliteDatabase from "better-sqlite3";
import postgres from "postgres";
import { createQueue } from "../mod.ts";
import { dequeue, dequeueMany, heartbeat, reap } from "../src/sql.gen.ts";
import { createDatabase } from "./support/postgres_server.ts";

const ROLES = Array.from({ length: 50 }, (_, place) => `r${place}`);
const LIMIT = 10;
// As sql/postgres/queries/dequeue.sql says: that many candidates of each role are looked at.
const CANDIDATES = { dequeue: 8, dequeue_many: 2 * LIMIT + 6 };

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  "Rows Removed by Join Filter"?: number;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  Plans?: PlanNode[];
}

describe("postgres.js · plans", { skip: process.env["DATABASE_URL"] === undefined && "no DATABASE_URL" }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let sql: postgres.Sql;
  let next = 0;

  before(async () => {
    database = await createDatabase(String(process.env["DATABASE_URL"]));
    sql = postgres(database.url, { max: 1 });
  });
  after(async () => {
    await sql.end();
    await database.drop();
  });

  async function fill(count: number, role = "'r' || i % 50", status = "pending"): Promise<void> {
    await sql.unsafe(`insert into workflow_attempts (workflow_id, role, status, payload)
      select i, ${role}, '${status}', '{}' from generate_series(${next}, ${next += count} - 1) as i`);
  }

  /** New tables: old ones keep some statistics when they are emptied. Later statistics come when a test says so. */
  async function empty(): Promise<void> {
    next = 0;
    await sql.unsafe("set client_min_messages = warning; drop schema public cascade; create schema public");
    await createQueue(sql).migrate();
    await sql.unsafe("alter table workflow_attempts set (autovacuum_enabled = off)");
  }

  /** The plan of a query as it ran, rolled back. */
  async function explain(query: Pick<typeof dequeue, "postgres">, values: Record<string, unknown>, mode: string): Promise<PlanNode> {
    const [statement] = query.postgres;
    assert.ok(statement);
    const text = statement.text.replaceAll('"@schema"', "public").replaceAll('"@schema-literal"', "public");
    const args = statement.params.map((name) => values[name] === null ? "null" : `'${values[name]}'`).join(", ");
    const rollback = new Error("rollback");
    let plan: PlanNode | undefined;
    await sql.begin(async (transaction) => {
      const types = statement.params.map(() => "text").join();
      await transaction.unsafe(`set local plan_cache_mode = force_${mode}_plan; prepare claim (${types}) as ${text}`);
      const [row] = await transaction.unsafe(`explain (analyze, buffers, format json) execute claim (${args})`);
      plan = (row?.["QUERY PLAN"] as { Plan: PlanNode }[])[0]?.Plan;
      await transaction.unsafe("deallocate claim");
      throw rollback;
    }).catch((error: unknown) => assert.equal(error, rollback));
    assert.ok(plan);
    return plan;
  }

  async function assertFlat(label: string): Promise<void> {
    for (const query of [dequeue, dequeueMany]) {
      for (const mode of ["custom", "generic"]) {
        for (const count of [1, 5, 50]) {
          const mine = ROLES.slice(0, count);
          for (const roles of [mine, mine.map((role) => `nobody-${role}`)]) {
            const plan = await explain(query, { roles: JSON.stringify(roles), instance_id: "me", max_pickups: 3, max_claims: LIMIT }, mode);
            const what = `${query.name} for ${count} roles such as ${roles[0]}, ${mode} plan, ${label}`;
            const candidates = CANDIDATES[query.name as keyof typeof CANDIDATES];
            const claims = query === dequeue ? 1 : LIMIT;
            // Measured: 33, and 10 more for each further role, most of them candidates.
            const buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
            assert.ok(buffers <= 40 * claims + (12 + candidates) * count, `${what}: ${buffers} buffers`);
            // A table this small may as well be read from end to end.
            const rows = Math.max(candidates * count + claims, next <= 1000 ? 1000 : 0);
            for (const node of nodesOf(plan)) assert.ok(read(node) <= rows, `${what}: ${node["Node Type"]} reads ${read(node)} rows`);
          }
        }
      }
    }
  }

  for (const analysed of [false, true]) {
    test(`flat from 1,000 to 200,000 rows, ${analysed ? "analysed" : "never analysed"}`, async () => {
      await empty();
      for (const size of [1_000, 30_000, 200_000]) {
        await fill(size - next);
        await assertFlat(`${size} rows${analysed ? ", old statistics" : ""}`);
        if (!analysed) continue;
        await sql.unsafe("analyze workflow_attempts");
        await assertFlat(`${size} rows, new statistics`);
      }
    });
  }

  test("flat behind the backlog of others and what is finished", async () => {
    await empty();
    await fill(100_000, "'foreign'");
    await fill(100_000, "'r' || i % 50", "succeeded");
    await fill(1_000);
    await assertFlat("behind others");
    await sql.unsafe("analyze workflow_attempts");
    await assertFlat("behind others, analysed");
  });

  test("reap reads leases and not what is finished or waits, heartbeat reads no leases of others", async () => {
    const blocks = (plan: PlanNode) => plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    const reaping = { stale_after_ms: 3_600_000, max_pickups: 3, max_reaped: null };
    const beating = { leases: JSON.stringify([{ attempt_id: 1, instance_id: "me", fencing_token: 0 }]) };
    await empty();
    await fill(100, "'r1'", "in_progress");
    await fill(50_000, "'r1'", "succeeded");
    await fill(50_000);
    await sql.unsafe("analyze workflow_attempts");
    for (const mode of ["custom", "generic"]) assert.ok(blocks(await explain(reap, reaping, mode)) < 300, `reap, ${mode}`);
    await fill(30_000, "'r1'", "in_progress");
    await sql.unsafe("update workflow_attempts set locked_by_instance = 'me' where attempt_id = 1; analyze workflow_attempts");
    for (const mode of ["custom", "generic"]) assert.ok(blocks(await explain(heartbeat, beating, mode)) < 60, `heartbeat, ${mode}`);
  });

  // The plan that Postgres keeps is one for an empty table, until autovacuum analyses the full one.
  test("flat on a connection that polled while the queue was empty", async () => {
    const worker = postgres(database.url, { max: 1 });
    const queue = createQueue(worker);
    await empty();
    const lease = { attemptId: 1, instanceId: "me", fencingToken: 1 };
    // After five times Postgres may keep a plan.
    for (let round = 0; round < 12; round++) {
      await queue.dequeue({ roles: ROLES });
      await assert.rejects(queue.complete(lease), { code: "lease_lost" });
    }
    await fill(30_000);
    const scanned = async () => {
      await worker.unsafe("select pg_stat_force_next_flush()");
      const [row] = await sql.unsafe("select pg_stat_get_tuples_returned('workflow_attempts'::regclass) as rows");
      return Number(row?.["rows"]);
    };
    const rows: Record<string, number> = {};
    const count = async <T>(what: string, work: () => Promise<T>) => {
      const before = await scanned();
      const result = await work();
      rows[what] = await scanned() - before;
      return result;
    };
    const claim = await count("dequeue", () => queue.dequeue({ roles: ROLES }));
    assert.ok(claim.acquired);
    await count("complete", () => queue.complete(claim));
    await worker.end();
    assert.deepEqual(rows, { dequeue: 0, complete: 0 }, "rows read from end to end");
  });
});

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function read(node: PlanNode): number {
  const removed = ["Rows Removed by Filter", "Rows Removed by Index Recheck", "Rows Removed by Join Filter"] as const;
  return removed.reduce((rows, name) => rows + (node[name] ?? 0), node["Actual Rows"]) * node["Actual Loops"];
}

describe("better-sqlite3 12 · plans", () => {
  const rows = (count: number, role: string) =>
    `insert into workflow_attempts (workflow_id, role)
     with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count}) select i, ${role} from n`;
  const misleading: [name: string, statements: string][] = [
    ["no statistics", rows(30_000, "'r' || i % 50")],
    ["statistics of an empty table", `analyze; ${rows(30_000, "'r' || i % 50")}`],
    ["statistics of one role", `${rows(30_000, "'foreign'")}; analyze; ${rows(1_000, "'r' || i % 50")}`],
    ["statistics that speak against the index", `analyze; insert into sqlite_stat1 values
      ('workflow_attempts', 'workflow_attempts_pending', '1000000 1000000 1000000 1000000 1000000 1000000'),
      ('workflow_attempts', 'workflow_attempts_workflow_id', '1000000 1'); analyze sqlite_schema`],
  ];

  for (const [name, statements] of misleading) {
    test(`one probe of the index for each role: ${name}`, async () => {
      const db = new SqliteDatabase(":memory:");
      await createQueue(db).migrate();
      db.exec(statements);
      for (const query of [dequeue, dequeueMany]) {
        for (const { text } of query.sqlite) {
          const params = { roles: "[]", instance_id: "me", max_pickups: 3, max_claims: LIMIT };
          const plan = db.prepare(`explain query plan ${text}`).all(params) as { parent: number; detail: string }[];
          const details = plan.map(({ detail }) => detail);
          assert.ok(!details.some((detail) => /^SCAN (?!wanted|json_each|CONSTANT|\(subquery)/.test(detail)), details.join("\n"));
          const probe = plan.find(({ detail }) => /^SEARCH a USING (COVERING )?INDEX workflow_attempts_pending \(role=\?/.test(detail));
          assert.ok(probe, details.join("\n"));
          // Heads are sorted, a backlog is not: nothing is sorted where the backlog is read.
          if (query.sqlite[1]?.text !== text) {
            assert.deepEqual(plan.filter(({ parent }) => parent === probe.parent).map(({ detail }) => detail), [probe.detail]);
          }
        }
      }
    });
  }
});
