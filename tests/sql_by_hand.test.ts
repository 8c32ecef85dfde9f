// Every file of sql/ as a person runs it: psql and the sqlite3 shell, variables that hold SQL literals.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { createDatabase } from "./support/postgres_server.ts";
import { type HandRow, missing, psqlShell, queries, type Shell, sqliteShell } from "./support/shells.ts";
import { temporaryFolder } from "./support/temp.ts";

const URL = process.env["DATABASE_URL"];
// What needs care in one shell or the other.
const ODD = `o'Brien "x" \\n $1 :roles ; -- ü€😀`;

const FAIL = { outcome: null, error: null, result: null, retry: false, delay_ms: null, tier: null };

const shells: { name: string; skip: string | false; open: () => Promise<{ shell: Shell; close?: () => Promise<void> }> }[] = [
  {
    name: "psql",
    skip: URL === undefined ? "no DATABASE_URL" : missing("psql"),
    open: async () => {
      const database = await createDatabase(String(URL));
      return { shell: psqlShell(database.url), close: database.drop };
    },
  },
  {
    name: "sqlite3",
    skip: missing("sqlite3"),
    open: () => Promise.resolve({ shell: sqliteShell(join(temporaryFolder("by hand"), `o'Brien "x".db`)) }),
  },
];

for (const { name, skip, open } of shells) {
  describe(`${name} · sql by hand`, { skip }, () => {
    let shell: Shell;
    const me = "host/1/me";
    const lease = (claim: HandRow) => ({
      attempt_id: claim["attempt_id"], instance_id: claim["instance_id"], fencing_token: claim["fencing_token"],
    });
    const dequeue = (role: string) => {
      const rows = shell.query("dequeue", { roles: [role, "nobody"], instance_id: me, max_pickups: 2 });
      assert.equal(rows.length, 1);
      return rows[0] as HandRow;
    };
    const enqueue = (...work: HandRow[]) => shell.query("enqueue", { work });
    const complete = (claim: HandRow, next: HandRow[] | null = null) =>
      shell.query("complete", { ...lease(claim), outcome: "built", result: { ok: [true] }, next });
    const fail = (claim: HandRow, params: HandRow) =>
      shell.query("fail", { ...lease(claim), ...FAIL, ...params });
    const reap = (stale_after_ms: number) => shell.query("reap", { stale_after_ms, max_pickups: 2, max_reaped: null });
    const reaped = () => reap(60_000).map((row) => [row["attempt_id"], row["previous_instance_id"], row["stuck"]]);
    const attempt = (row: HandRow, columns: string) =>
      shell.sql(`select ${columns} from workflow_attempts where attempt_id = ${row["attempt_id"]}`)[0];
    const status = (row: HandRow) => shell.sql(`select status from workflows where workflow_id = ${row["workflow_id"]}`)[0]?.["status"];
    const held = (...claims: HandRow[]) => shell.query("heartbeat", { leases: claims.map(lease) }).map((row) => row["held"]);
    const anHourAgo = (column: string, where: string) => {
      const past = shell.dialect === "postgres" ? "now() - interval '1 hour'" : "datetime('now', '-1 hour')";
      shell.sql(`update workflow_attempts set ${column} = ${past} where ${where}`);
    };

    let close: (() => Promise<void>) | undefined;
    before(async () => {
      ({ shell, close } = await open());
      assert.equal(shell.script("schema.sql"), "");
    });
    after(() => close?.());

    test("the schema again changes nothing and says nothing", () => {
      enqueue({ role: "kept" });
      const said = shell.script("schema.sql");
      assert.deepEqual(shell.sql("select version from skiplocked_schema"), [{ version: "1" }]);
      assert.equal(dequeue("kept")["role"], "kept");
      assert.equal(said, "");
    });

    test("enqueue, dequeue, heartbeat, complete with work to follow", () => {
      const [made] = enqueue({ role: ODD, tier: 7, priority: -1, payload: { text: ODD }, key: ODD });
      assert.deepEqual({ ...made, workflow_id: 0, attempt_id: 0 }, { workflow_id: 0, attempt_id: 0, created: true, refusal: null });
      const ids = { workflow_id: made?.["workflow_id"], attempt_id: made?.["attempt_id"] };
      assert.deepEqual(shell.query("attempt_by_key", { key: ODD }), [ids]);
      assert.deepEqual(shell.query("attempt_by_key", { key: "no" }), []);
      assert.deepEqual(enqueue({ role: "x", key: ODD }), [{ ...made, created: false }]);

      const { created_at, ...claim } = dequeue(ODD);
      assert.match(String(created_at), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+$/);
      assert.deepEqual(claim, {
        reason: null, ...ids, role: ODD, tier: 7, priority: -1, attempt_number: 1,
        pickup_count: 0, key: ODD, payload: { text: ODD }, instance_id: me, fencing_token: "1",
      });
      assert.deepEqual(held(claim, { ...claim, fencing_token: "0" }), [true, false]);
      assert.deepEqual(complete({ ...claim, instance_id: "other" }), []);
      assert.deepEqual(complete(claim, [{ role: "next" }]), [{ attempt_id: claim["attempt_id"], contended: false }]);
      assert.deepEqual(attempt(claim, "status, outcome, error"), { status: "succeeded", outcome: "built", error: null });
      assert.equal(status(claim), "ACTIVE");

      const next = dequeue("next");
      assert.equal(next["workflow_id"], claim["workflow_id"]);
      complete(next);
      assert.equal(status(claim), "SUCCEEDED");
      assert.deepEqual(complete(next), []);
    });

    test("dequeue says why there is nothing", () => {
      const nothing = Object.fromEntries(queries.get("dequeue")?.query.columns.map(([column]) => [column, null]) ?? []);
      assert.deepEqual(dequeue("r"), { ...nothing, reason: "no_pending_eligible" });
      const [made] = enqueue({ role: "r" });
      shell.sql(`update workflow_attempts set pickup_count = 2 where attempt_id = ${made?.["attempt_id"]}`);
      assert.deepEqual(dequeue("r"), { ...nothing, reason: "pickup_limit_exceeded" });
      // An attempt that the other program pushed to the limit.
      assert.deepEqual(reaped(), [[made?.["attempt_id"], null, true]]);
    });

    test("dequeue_many, release", () => {
      const ids = enqueue({ role: "many" }, { role: "many", priority: -1 }, { role: "many" }).map((row) => row["attempt_id"]);
      const rows = shell.query("dequeue_many", { roles: ["many"], max_claims: 2, instance_id: me, max_pickups: 2 });
      assert.deepEqual(new Set(rows.map((row) => row["attempt_id"])), new Set([ids[1], ids[0]]));
      for (const row of rows) assert.deepEqual(shell.query("release", lease(row)), [{ attempt_id: row["attempt_id"] }]);
      assert.deepEqual(shell.query("release", lease(rows[0] as HandRow)), []);
      const { attempt_id, fencing_token, pickup_count } = dequeue("many");
      assert.deepEqual({ attempt_id, fencing_token, pickup_count }, { attempt_id: ids[1], fencing_token: "3", pickup_count: 0 });
    });

    test("fail: for good, with a retry, of the worker", () => {
      enqueue({ role: "f", payload: [1] });
      const first = dequeue("f");
      assert.deepEqual(fail(first, { error: ODD, retry: true, delay_ms: 3_600_000, tier: 9 }), [{ attempt_id: first["attempt_id"] }]);
      assert.deepEqual(attempt(first, "status, error"), { status: "failed", error: ODD });
      assert.equal(status(first), "ACTIVE");
      assert.deepEqual(reap(60_000), []);
      assert.equal(dequeue("f")["reason"], "no_pending_eligible", "in an hour and not now");
      anHourAgo("run_at", "role = 'f' and status = 'scheduled'");
      assert.deepEqual(reap(60_000), []);
      const second = dequeue("f");
      assert.deepEqual([second["attempt_number"], second["tier"], second["payload"]], [2, 9, [1]]);

      fail(second, { outcome: "worker-internal-error", result: 5 });
      assert.equal(status(second), "ACTIVE");
      assert.deepEqual(reaped(), [[second["attempt_id"], me, false]]);
      fail(dequeue("f"), {});
      assert.equal(status(second), "FAILED");
      assert.deepEqual(fail(second, {}), []);
    });

    test("reap until STUCK, retry, cancel", () => {
      const [made] = enqueue({ role: "poison" }) as [HandRow];
      for (const [count, stuck] of [[1, false], [2, true]] as const) {
        const claim = dequeue("poison");
        assert.deepEqual(reap(60_000), []);
        anHourAgo("lock_heartbeat_at", `attempt_id = ${claim["attempt_id"]}`);
        const { created: _, refusal: __, ...ids } = made;
        assert.deepEqual(reap(60_000), [{ ...ids, role: "poison", pickup_count: count, previous_instance_id: me, stuck }]);
        assert.deepEqual(held(claim), [false]);
      }
      assert.equal(status(made), "STUCK");
      const refused = { workflow_id: null, attempt_id: null, created: false, refusal: "workflow_closed" };
      assert.deepEqual(enqueue({ role: "x", workflow_id: made["workflow_id"] }), [refused]);
      assert.ok(Number(shell.query("stats")[0]?.["stuck"]) >= 1);

      const retry = () => shell.query("retry", { workflow_id: made["workflow_id"] });
      assert.deepEqual(retry(), [{ done: true, status: "STUCK", key: null }]);
      assert.deepEqual(retry(), [{ done: false, status: "ACTIVE", key: null }]);
      const claim = dequeue("poison");
      assert.deepEqual([claim["pickup_count"], claim["fencing_token"]], [0, "6"]);

      assert.deepEqual(shell.query("cancel", { workflow_id: made["workflow_id"] }), [{ done: true, status: "ACTIVE" }]);
      assert.deepEqual(held(claim), [false]);
      assert.equal(status(made), "CANCELLED");
      for (const query of ["cancel", "retry"]) assert.equal(shell.query(query, { workflow_id: 4_000_000_000 })[0]?.["status"], null);
    });

    test("stats, prune", () => {
      const [row] = shell.query("stats").filter(({ role }) => role === "kept");
      const counts = { role: "kept", pending: 0, scheduled: 0, in_progress: 1, succeeded: 0, failed: 0, oldest_pending_ms: null };
      assert.deepEqual({ ...row, oldest_heartbeat_ms: 0, stuck: 0 }, { ...counts, oldest_heartbeat_ms: 0, stuck: 0 });
      assert.ok(Number(row?.["oldest_heartbeat_ms"]) < 120_000);

      assert.equal(total(shell.query("prune", { older_than_ms: 3_600_000, max_pruned: null }), "workflows"), 0);
      const over = "status in ('SUCCEEDED', 'FAILED', 'CANCELLED')";
      const [{ n: ended } = {}] = shell.sql(`select count(*) as n from workflows where ${over}`);
      assert.equal(total(shell.query("prune", { older_than_ms: 0, max_pruned: 1 }), "workflows"), 1);
      assert.equal(total(shell.query("prune", { older_than_ms: 0, max_pruned: null }), "workflows"), Number(ended) - 1);
      assert.ok(shell.sql("select 1 as kept from workflow_attempts where role = 'kept'").length === 1);
    });

    test("leave no file out", () => {
      const files = readdirSync(new globalThis.URL(`../sql/${shell.dialect}/queries/`, import.meta.url));
      assert.deepEqual(files.sort(), [...shell.used].map((query) => `${query}.sql`).sort());
    });
  });
}

function total(rows: readonly HandRow[], column: string): number {
  return rows.reduce((sum, row) => sum + Number(row[column]), 0);
}
