// The checker of the fault run sees what it is there to see, and each thing it lets pass is let pass only for a reason.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createQueue } from "../mod.ts";
import { openSqlite } from "../src/sqlite.ts";
import { HUNG, UNHEARD_MS } from "./chaos/calls.ts";
import { check } from "./chaos/check.ts";
import { checkAttempt } from "./chaos/check_attempt.ts";
import { checkHung } from "./chaos/check_hung.ts";
import { type Circumstances, circumstancesOf } from "./chaos/check_timeline.ts";
import { judgeEnd } from "./chaos/crew.ts";
import { figuresOf } from "./chaos/figures.ts";
import { type Finding, findings, PROMISES } from "./chaos/findings.ts";
import { type End, type EnqueueRecord, type LeaseRecord, type Ledger, type Pickup, readLedger, type UnknownCall } from "./chaos/ledger.ts";
import { unfulfilled } from "./chaos/report.ts";
import type { AttemptRow } from "./chaos/table.ts";
import { type Kind, workOf } from "./chaos/work.ts";
import { temporaryFolder } from "./support/temp.ts";

const STALE_MS = 2_000;

// Claimed by one worker and lost, reaped, claimed by another and completed.
const row: AttemptRow = {
  id: 7, workflowId: 5, workflowStatus: "SUCCEEDED", role: "builder", status: "succeeded", outcome: "done", n: 3, kind: "plain", fails: 0,
  attemptNumber: 1, pickupCount: 1, token: 3, owner: "b", result: { n: 3, instance: "b", token: "3" },
};
const lost: LeaseRecord = { attemptId: 7, token: 1, instance: "a", pickupCount: 0, from: 0, to: 10, lastSign: 500, ends: [] };
const kept: LeaseRecord = {
  attemptId: 7, token: 3, instance: "b", pickupCount: 1, from: 4_000, to: 4_010, lastSign: 4_000,
  ends: [{ how: "complete", from: 4_100, to: 4_110, outcome: "done" }],
};
const ended = kept.ends[0]!;
const reaped: Pickup = { count: 1, stuck: false, from: 3_000, to: 3_010 };
const stuckRow: Partial<AttemptRow> = { status: "failed", outcome: "attempt-pickup-exhausted", workflowStatus: "STUCK", result: null };

const claimAt = (from: number): UnknownCall => ({ type: "claiming", from, error: "killed", via: "x", driver: "pg", limit: 20 });
const reapAt = (from: number): UnknownCall => ({ type: "reaping", from, error: "killed", via: "x", driver: "pg", limit: 0 });

interface Changes {
  row?: Partial<AttemptRow>;
  leases?: LeaseRecord[];
  pickups?: Pickup[];
  unknown?: UnknownCall[];
  clockSteps?: Circumstances["clockSteps"];
}

function violated({ row: changes, leases = [lost, kept], pickups = [reaped], unknown = [], clockSteps = [] }: Changes): string[] {
  const found = findings();
  checkAttempt({ ...row, ...changes }, leases, pickups, circumstancesOf({ unknown }, STALE_MS, clockSteps), found);
  return promisesOf(found.all());
}

function promisesOf(found: readonly Finding[]): string[] {
  const promised = Object.entries(PROMISES);
  return found.filter(({ violations }) => violations.length > 0).map(({ promise }) => promised.find(([, text]) => text === promise)![0]).sort();
}

describe("chaos · checker", () => {
  // What is let pass, each with what makes it a violation.
  const allowances: Record<string, { good: Changes; bad: Record<string, [Changes, string[]]> }> = {
    "a good life": { good: {}, bad: {} },
    "who says that it broke long after it was taken back": {
      good: { leases: [{ ...lost, ends: [{ ...ended, how: "break", from: 6_000, to: 6_010, outcome: "unknown" }] }, kept] },
      bad: {
        "taken back before it broke, and not stale": [{ leases: [{ ...lost, lastSign: 3_500, ends: [{ ...ended, how: "break", from: 6_000, to: 6_010, outcome: "unknown" }] }, kept] }, ["held"]],
      },
    },
    "a completion without an answer": {
      good: { leases: [lost, { ...kept, ends: [{ ...ended, outcome: "unknown" }] }] },
      bad: {
        "one that did nothing for certain": [{ leases: [lost, { ...kept, ends: [{ ...ended, outcome: "nothing" }] }] }, ["completed"]],
        "none at all": [{ leases: [lost, { ...kept, ends: [] }] }, ["completed"]],
      },
    },
    "a claim without an answer": {
      good: { leases: [kept], unknown: [claimAt(0)] },
      bad: {
        "no such claim": [{ leases: [kept] }, ["held"]],
        "one that was made when the lease was over": [{ leases: [kept], unknown: [claimAt(3_500)] }, ["held"]],
        "another kind of call": [{ leases: [kept], unknown: [reapAt(0)] }, ["held"]],
      },
    },
    "a reap without an answer": {
      good: { pickups: [], unknown: [reapAt(2_600)] },
      bad: {
        "no such reap": [{ pickups: [] }, ["pickups"]],
        "one that was sent after the next lease had begun": [{ pickups: [], unknown: [reapAt(4_500)] }, ["pickups"]],
        "one so long before that it was over": [{ pickups: [], unknown: [reapAt(2_400 - UNHEARD_MS)] }, ["pickups"]],
        "a reap that told of two pickups which were one": [{ pickups: [reaped, { ...reaped, count: 2 }] }, ["pickups"]],
      },
    },
    "taken back three times by reaps that told of it, no poison": {
      good: {
        row: { ...stuckRow, pickupCount: 3, token: 6 },
        leases: [lost, { ...lost, token: 3, pickupCount: 1, from: 4_000, to: 4_010, lastSign: 4_000 }, { ...lost, token: 5, pickupCount: 2, from: 7_000, to: 7_010, lastSign: 7_000 }],
        pickups: [reaped, { ...reaped, count: 2, from: 6_100, to: 6_110 }, { count: 3, stuck: true, from: 9_100, to: 9_110 }],
      },
      bad: {
        "the last time while it was alive": [{
          row: { ...stuckRow, pickupCount: 3, token: 6 },
          leases: [lost, { ...lost, token: 3, pickupCount: 1, from: 4_000, to: 4_010, lastSign: 4_000 }, { ...lost, token: 5, pickupCount: 2, from: 7_000, to: 7_010, lastSign: 8_500 }],
          pickups: [reaped, { ...reaped, count: 2, from: 6_100, to: 6_110 }, { count: 3, stuck: true, from: 9_100, to: 9_110 }],
        }, ["held"]],
        "STUCK before its time": [{ row: { ...stuckRow, token: 2 }, leases: [lost], pickups: [{ ...reaped, stuck: true }] }, ["pickups", "terminal"]],
      },
    },
    "taken back three times and nobody heard of it, no poison": {
      good: { row: { ...stuckRow, pickupCount: 3, token: 6 }, leases: [], pickups: [], unknown: [0, 3_000, 6_000].flatMap((at) => [claimAt(at), reapAt(at + 2_100)]) },
      bad: {
        "one reap without an answer for three pickups": [
          { row: { ...stuckRow, pickupCount: 3, token: 6 }, leases: [], pickups: [], unknown: [claimAt(0), claimAt(3_000), claimAt(6_000), reapAt(2_100)] }, ["pickups"],
        ],
        "one claim without an answer for three leases": [
          { row: { ...stuckRow, pickupCount: 3, token: 6 }, leases: [], pickups: [], unknown: [claimAt(0), reapAt(2_100), reapAt(5_100), reapAt(8_100)] }, ["held"],
        ],
        "no call without an answer": [{ row: { ...stuckRow, pickupCount: 3, token: 6 }, leases: [], pickups: [] }, ["held", "pickups"]],
      },
    },
    "a release without an answer": {
      good: { row: { pickupCount: 0 }, leases: [{ ...lost, ends: [{ ...ended, how: "release", from: 600, to: Infinity, outcome: "unknown" }] }, { ...kept, pickupCount: 0, from: 700, to: 710, lastSign: 700 }], pickups: [] },
      bad: {
        "it was counted": [{ leases: [{ ...lost, ends: [{ ...ended, how: "release", from: 600, to: Infinity, outcome: "unknown" }] }, { ...kept, from: 700, to: 710, lastSign: 700 }], pickups: [{ ...reaped, from: 650, to: 660 }] }, ["held"]],
      },
    },
    "a broken attempt that stays, since its workflow failed": {
      good: {
        row: { kind: "broken", status: "failed", outcome: "worker-internal-error", workflowStatus: "FAILED", pickupCount: 0, token: 1, result: null },
        leases: [{ ...lost, ends: [{ ...ended, how: "break" }] }], pickups: [],
      },
      bad: {
        "nobody said that it broke": [{
          row: { kind: "broken", status: "failed", outcome: "worker-internal-error", workflowStatus: "FAILED", pickupCount: 0, token: 1, result: null }, leases: [lost], pickups: [],
        }, ["completed"]],
        "its workflow is ACTIVE": [{
          row: { kind: "broken", status: "failed", outcome: "worker-internal-error", workflowStatus: "ACTIVE", pickupCount: 0, token: 1, result: null },
          leases: [{ ...lost, ends: [{ ...ended, how: "break" }] }], pickups: [],
        }, ["completed", "pickups", "terminal"]],
      },
    },
    "a lease that ended early since the clock was set forward": {
      good: { pickups: [{ ...reaped, from: 1_000, to: 1_010 }], clockSteps: [{ from: 800, to: 900, ms: 1_600 }] },
      bad: {
        "it was not": [{ pickups: [{ ...reaped, from: 1_000, to: 1_010 }] }, ["held"]],
        "it was set back": [{ pickups: [{ ...reaped, from: 1_000, to: 1_010 }], clockSteps: [{ from: 800, to: 900, ms: -1_600 }] }, ["held"]],
        "it was set forward before": [{ pickups: [{ ...reaped, from: 1_000, to: 1_010 }], clockSteps: [{ from: 300, to: 400, ms: 1_600 }] }, ["held"]],
      },
    },
  };
  for (const [name, { good, bad }] of Object.entries(allowances)) {
    test(`it lets pass: ${name}`, () => assert.deepEqual(violated(good), []));
    for (const [problem, [changes, promises]] of Object.entries(bad)) test(`it does not let pass: ${name}, but ${problem}`, () => assert.deepEqual(violated(changes), [...promises].sort()));
  }

  const cases: Record<string, [Changes, string[]]> = {
    "it is still pending": [{ row: { status: "pending", outcome: null, token: 4, result: null, owner: null } }, ["terminal", "completed", "pickups"]],
    "poison was completed": [{ row: { kind: "silent" } }, ["terminal"]],
    "two were told that they completed it": [{ leases: [{ ...lost, ends: [ended] }, kept] }, ["completed", "held"]],
    "the result is another's": [{ row: { result: { n: 3, instance: "a", token: "1" } } }, ["completed"]],
    "who completed it was refused": [{ leases: [lost, { ...kept, ends: [{ ...ended, outcome: "refused" }] }] }, ["completed", "held"]],
    "the second lease began while the first was alive": [{ leases: [{ ...lost, lastSign: 3_000 }, kept] }, ["held"]],
    "the first lease had a heartbeat after the second began": [{ leases: [{ ...lost, lastSign: 5_000 }, kept] }, ["held"]],
    "the first lease was released after the second began": [{ leases: [{ ...lost, ends: [{ ...ended, how: "release", from: 5_000 }] }, kept] }, ["held", "pickups"]],
    "a token was given twice": [{ leases: [kept, { ...kept, instance: "c", ends: [] }], row: { pickupCount: 1 }, unknown: [claimAt(0)] }, ["held", "tokens"]],
    "the token rose once too often": [{ row: { token: 4, result: { n: 3, instance: "b", token: "4" } } }, ["completed", "tokens", "pickups"]],
    "a pickup was told twice": [{ pickups: [reaped, reaped] }, ["pickups"]],
    "a pickup was not counted": [{ row: { pickupCount: 0 }, pickups: [] }, ["pickups"]],
    "a release was counted": [{ leases: [{ ...lost, ends: [{ ...ended, how: "release", from: 400 }] }, kept] }, ["pickups"]],
  };
  for (const [name, [changes, promises]] of Object.entries(cases)) {
    test(`it sees that ${name}`, () => assert.deepEqual(violated(changes), [...promises].sort()));
  }

  test("it lets a call hang only with a driver that is known for it, and not more often than there were faults", () => {
    const hung = (driver: UnknownCall["driver"], times: number): UnknownCall[] => Array(times).fill({ ...claimAt(0), error: HUNG, driver });
    const judge = (calls: UnknownCall[]) => {
      const found = findings();
      checkHung(calls, 3, found);
      return promisesOf(found.all());
    };
    assert.deepEqual([judge(hung("postgres.js", 3)), judge([claimAt(0)])], [[], []]);
    assert.deepEqual([judge(hung("pg", 1)), judge(hung("openSqlite", 1)), judge(hung("postgres.js", 4))], [["settled"], ["settled"], ["settled"]]);
  });

  test("it lets a process end by itself only after a hung call, or by the one error of its driver", () => {
    const crash = "at x (/a/node_modules/postgres/src/connection.js:1:2)\nTypeError: Cannot read properties of null (reading 'write')";
    assert.deepEqual([judgeEnd(null, "SIGKILL", ""), judgeEnd(75, null, ""), judgeEnd(1, null, crash)], ["fine", "fine", "driver crash"]);
    assert.deepEqual([judgeEnd(0, null, ""), judgeEnd(1, null, "TypeError: Cannot read properties of null (reading 'write')")], ["complaint", "complaint"]);
  });

  test("a run that does not do what was planned fails", () => {
    const plan = { attempts: 500, times: 2, faults: [] };
    const good = { name: "a kill", times: 2, seconds: 1, hands: 4, touched: 9, recovered: 1, unknown: 0, longestGapMs: 5 };
    const course = { pieces: 500, planned: ["a kill"] };
    const looked = [{ promise: "p", checked: 1, violations: [] }];
    assert.deepEqual(unfulfilled(plan, course, [good], looked), []);
    const undone = [
      unfulfilled(plan, { ...course, pieces: 499 }, [good], looked),
      unfulfilled(plan, { ...course, planned: [] }, [], looked),
      unfulfilled(plan, course, [{ ...good, times: 1 }], looked),
      unfulfilled(plan, course, [{ ...good, hands: 0 }], looked),
      unfulfilled(plan, course, [{ ...good, touched: 0 }], looked),
      unfulfilled(plan, { ...course, planned: ["a kill", "another"] }, [good], looked),
      unfulfilled(plan, course, [good], [{ promise: "p", checked: 0, violations: [] }]),
    ];
    assert.deepEqual(undone.map((list) => list.length), [1, 1, 1, 1, 1, 1, 1], JSON.stringify(undone));
  });

  // What a run leaves: tables, and the journals of those who made them.
  describe("on tables", () => {
    const enqueue = (ns: number[], ids: number[], more: Partial<EnqueueRecord> = {}): EnqueueRecord => ({
      from: 0, to: 10, outcome: "done", ns, ids, workflowIds: ids, workflowId: undefined, ...more,
    });
    const end = (how: End["how"], from: number): End => ({ how, from, to: from + 10, outcome: "done" });
    const lease = (attemptId: number, from: number, ends: End[]): LeaseRecord => ({ attemptId, token: 1, instance: "a", pickupCount: 0, from, to: from + 5, lastSign: from, ends });

    async function violatedOn(rows: { id: number; workflow: number; n: number; kind: Kind; status?: string }[], workflows: Record<number, string>, ledger: Partial<Ledger>): Promise<string[]> {
      const db = await openSqlite(":memory:");
      await createQueue(db).migrate();
      for (const [id, status] of Object.entries(workflows)) db.query("insert into workflows (workflow_id, status) values (?, ?)").run(Number(id), status);
      for (const { id, workflow, n, kind, status = "succeeded" } of rows) {
        db.query(`insert into workflow_attempts (attempt_id, workflow_id, role, status, outcome, payload, result, locked_by_instance, fencing_token)
          values (?, ?, 'r', ?, ?, ?, ?, 'a', 1)`).run(id, workflow, status, status === "failed" ? "doomed" : "done", JSON.stringify({ n, kind }), JSON.stringify({ n, instance: "a", token: "1" }));
      }
      const empty: Ledger = { leases: new Map(), pickups: new Map(), enqueues: [], reapedAt: [], unknown: [], calls: 0 };
      const { findings } = await check({ ...empty, ...ledger }, (sql) => Promise.resolve(db.query(sql).all() as Record<string, unknown>[]), { staleAfterMs: STALE_MS, clockSteps: [], faults: 1 });
      db.close();
      return promisesOf(findings);
    }

    const done = (id: number, from = 20): [number, LeaseRecord[]] => [id, [lease(id, from, [end("complete", from + 5)])]];
    const one = { id: 1, workflow: 1, n: 0, kind: "plain" } as const;

    test("an enqueue without an answer may be there or not, but not by half, and one that did nothing not at all", async () => {
      const two = [one, { ...one, id: 2, workflow: 2, n: 1 }];
      const both = { 1: "SUCCEEDED", 2: "SUCCEEDED" };
      const unheard = (outcome: EnqueueRecord["outcome"]) => [enqueue([0, 1], [], { outcome, to: Infinity, workflowIds: [] })];
      assert.deepEqual(await violatedOn(two, both, { enqueues: unheard("unknown"), leases: new Map([done(1), done(2)]) }), []);
      assert.deepEqual(await violatedOn([], {}, { enqueues: unheard("unknown") }), []);
      assert.deepEqual(await violatedOn([one], { 1: "SUCCEEDED" }, { enqueues: unheard("unknown"), leases: new Map([done(1)]) }), ["lost"]);
      assert.deepEqual(await violatedOn(two, both, { enqueues: unheard("nothing"), leases: new Map([done(1), done(2)]) }), ["lost"]);
      assert.deepEqual(await violatedOn([], {}, { enqueues: [enqueue([0], [1])] }), ["lost"]);
    });

    test("a workflow that failed may succeed when something joined it after that, and then only", async () => {
      const rows = [{ ...one, kind: "doomed", status: "failed" } as const, { ...one, id: 2, n: 1 }];
      const leases = new Map([[1, [lease(1, 20, [end("fail", 100)])]], done(2, 200)] as [number, LeaseRecord[]][]);
      const joined = (to: number, outcome: EnqueueRecord["outcome"] = "done") => ({
        leases, enqueues: [enqueue([0], [1]), enqueue([1], outcome === "done" ? [2] : [], { to, outcome, workflowId: 1, workflowIds: outcome === "done" ? [1] : [] })],
      });
      assert.deepEqual(await violatedOn(rows, { 1: "SUCCEEDED" }, joined(150)), []);
      assert.deepEqual(await violatedOn(rows, { 1: "SUCCEEDED" }, joined(Infinity, "unknown")), []);
      assert.deepEqual(await violatedOn(rows, { 1: "FAILED" }, joined(90)), []);
      assert.deepEqual(await violatedOn(rows, { 1: "SUCCEEDED" }, joined(90)), ["workflows"], "a sibling's success undid it");
      assert.deepEqual(await violatedOn(rows, { 1: "ACTIVE" }, joined(150)), ["workflows"]);
    });

    test("what joined a workflow is in that one", async () => {
      const enqueues = [enqueue([0], [1]), enqueue([1], [2], { workflowId: 1, workflowIds: [1] })];
      const leases = new Map([done(1), done(2)]);
      assert.deepEqual(await violatedOn([one, { ...one, id: 2, n: 1 }], { 1: "SUCCEEDED" }, { leases, enqueues }), []);
      assert.deepEqual(await violatedOn([one, { ...one, id: 2, workflow: 2, n: 1 }], { 1: "SUCCEEDED", 2: "SUCCEEDED" }, { leases, enqueues }), ["lost"]);
    });

    test("claims without an answer bring no more leases than they asked for", async () => {
      const two = [one, { ...one, id: 2, workflow: 2, n: 1 }].map((each) => ({ ...each, kind: "plain" as const }));
      const enqueues = [enqueue([0, 1], [1, 2])];
      const unknown = (limit: number) => [{ ...claimAt(5), limit }];
      const both = { 1: "SUCCEEDED", 2: "SUCCEEDED" };
      // Whoever completed them knew that it held them: that is another violation, and here not the point.
      assert.deepEqual(await violatedOn(two, both, { enqueues, unknown: unknown(2) }), ["completed"]);
      assert.deepEqual(await violatedOn(two, both, { enqueues, unknown: unknown(1) }), ["completed", "held"]);
    });
  });

  test("journals are read across kills: a line cut off, a call without an answer, a successor", async () => {
    const folder = join(temporaryFolder("journals"), "journals");
    mkdirSync(folder);
    const lines = [
      { type: "started", at: 0, instance: "a", pid: 1, via: "x", driver: "pg" },
      { type: "claiming", call: 1, at: 1, limit: 2 },
      { type: "claimed", call: 1, at: 2, leases: [["7", "1", 0], ["8", "1", 0]] },
      { type: "ending", call: 2, at: 3, how: "complete", lease: ["7", "1"] },
      { type: "answered", call: 2, at: 4, outcome: "done" },
      { type: "ending", call: 3, at: 5, how: "complete", lease: ["8", "1"] },
    ].map((entry) => JSON.stringify(entry));
    const next = [
      { type: "started", at: 9, instance: "b", pid: 2, via: "x", driver: "pg" }, { type: "reaping", call: 1, at: 10 }, { type: "reaped", call: 1, at: 11, rows: [["8", 1, false]] },
    ];
    writeFileSync(join(folder, "x.jsonl"), `\n${lines.join("\n")}\n{"type":"cla\n${next.map((entry) => JSON.stringify(entry)).join("\n")}\n`);
    const ledger = await readLedger(folder);
    assert.deepEqual(ledger.leases.get(7)?.[0]?.ends.map(({ outcome }) => outcome), ["done"]);
    assert.deepEqual(ledger.leases.get(8)?.[0]?.ends.map(({ outcome }) => outcome), ["unknown"]);
    assert.deepEqual([ledger.pickups.get(8), ledger.calls], [[{ count: 1, stuck: false, from: 10, to: 11 }], 4]);
    assert.deepEqual(ledger.unknown, [{ type: "ending", from: 5, error: "killed", via: "x", driver: "pg", limit: 0 }]);
    const [figures] = figuresOf([{ name: "a kill", from: 4.5, to: 6, hands: 1 }], ledger, STALE_MS);
    assert.deepEqual([figures?.times, figures?.hands, figures?.touched, figures?.recovered, figures?.unknown], [1, 1, 1, 1, 1]);
  });

  test("what the command does not know it refuses, and says what there is", { skip: process.platform !== "linux" && "the fault run needs Linux" }, async () => {
    const [faults, arena, attempts] = await Promise.all([["--faults", "SIGKILL", "--faults", "nosuchfault"], ["--arena", "sqlite"], ["--attempts", "1.5"]].map(refusal));
    assert.match(faults!, /^No fault has "nosuchfault" in its name[^]*^ {2}SIGKILL of workers$[^]*^ {2}the disk is full$/m);
    assert.match(arena!, /^There is no arena "sqlite"[^]*^ {2}Postgres$[^]*^ {2}SQLite$/m);
    assert.match(attempts!, /^--attempts 1\.5: it takes a whole number/);
  });

  test("work is the same for everybody who knows the seed, and another for another", () => {
    const some = (seed: number) => Array.from({ length: 200 }, (_, n) => workOf(seed, n));
    assert.deepEqual(some(1), some(1));
    assert.notDeepEqual(some(1), some(2));
  });
});

function refusal(args: readonly string[]): Promise<string> {
  const script = fileURLToPath(new URL("../scripts/chaos.ts", import.meta.url));
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ["--import", import.meta.resolve("tsx"), script, ...args], (error, _, stderr) => error?.code === 2 ? resolve(stderr) : reject(error ?? new Error(`${args.join(" ")} was not refused`)));
  });
}
