// The checker of the fault run sees what it is there to see.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { checkAttempt } from "./chaos/check_attempt.ts";
import { figuresOf } from "./chaos/figures.ts";
import { findings, PROMISES } from "./chaos/findings.ts";
import { type LeaseRecord, readLedger } from "./chaos/ledger.ts";
import type { AttemptRow } from "./chaos/table.ts";
import { workOf } from "./chaos/work.ts";
import { temporaryFolder } from "./support/temp.ts";

const STALE_MS = 2_000;

// Claimed by one worker and lost, reaped, claimed by another and completed.
const row: AttemptRow = {
  id: 7, workflowStatus: "SUCCEEDED", role: "builder", status: "succeeded", outcome: "done", n: 3, kind: "plain", fails: 0,
  attemptNumber: 1, pickupCount: 1, token: 3, owner: "b", result: { n: 3, instance: "b", token: "3" },
};
const lost: LeaseRecord = { attemptId: 7, token: 1, instance: "a", pickupCount: 0, from: 0, to: 10, lastSign: 500, ends: [] };
const kept: LeaseRecord = {
  attemptId: 7, token: 3, instance: "b", pickupCount: 1, from: 4_000, to: 4_010, lastSign: 4_000,
  ends: [{ how: "complete", from: 4_100, to: 4_110, outcome: "done" }],
};
const ended = kept.ends[0]!;

function violated(changes: { row?: Partial<AttemptRow>; leases?: LeaseRecord[]; pickups?: number[] }): string[] {
  const found = findings();
  checkAttempt({ ...row, ...changes.row }, changes.leases ?? [lost, kept], changes.pickups ?? [1], STALE_MS, found);
  const promised = Object.entries(PROMISES);
  return found.all().filter(({ violations }) => violations.length > 0).map(({ promise }) => promised.find(([, text]) => text === promise)![0]);
}

describe("chaos · checker", () => {
  test("a good life violates nothing", () => {
    assert.deepEqual(violated({}), []);
    assert.deepEqual(violated({ pickups: [] }), [], "a reap without an answer");
    assert.deepEqual(violated({ leases: [lost, { ...kept, ends: [{ ...ended, outcome: "unknown" }] }] }), [], "a completion without an answer");
    assert.deepEqual(violated({ leases: [kept] }), [], "a claim without an answer");
  });

  const cases: Record<string, [Parameters<typeof violated>[0], string[]]> = {
    "it is still pending": [{ row: { status: "pending", outcome: null, token: 4, result: null, owner: null } }, ["terminal", "completed", "pickups"]],
    "it is STUCK after one pickup": [{ row: { status: "failed", outcome: "attempt-pickup-exhausted", token: 2 }, leases: [lost] }, ["terminal"]],
    "poison was completed": [{ row: { kind: "silent" } }, ["terminal"]],
    "two were told that they completed it": [{ leases: [{ ...lost, ends: [ended] }, kept] }, ["completed", "held"]],
    "the result is another's": [{ row: { result: { n: 3, instance: "a", token: "1" } } }, ["completed"]],
    "who completed it was refused": [{ leases: [lost, { ...kept, ends: [{ ...ended, outcome: "refused" }] }] }, ["completed", "held"]],
    "the second lease began while the first was alive": [{ leases: [{ ...lost, lastSign: 3_000 }, kept] }, ["held"]],
    "the first lease had a heartbeat after the second began": [{ leases: [{ ...lost, lastSign: 5_000 }, kept] }, ["held"]],
    "the first lease was released after the second began": [{ leases: [{ ...lost, ends: [{ ...ended, how: "release", from: 5_000 }] }, kept] }, ["held", "pickups"]],
    "a token was given twice": [{ leases: [kept, { ...kept, instance: "c", ends: [] }], row: { pickupCount: 1 } }, ["held", "tokens"]],
    "the token rose once too often": [{ row: { token: 4, result: { n: 3, instance: "b", token: "4" } } }, ["completed", "tokens", "pickups"]],
    "a pickup was counted twice": [{ row: { pickupCount: 2 }, pickups: [1, 2] }, ["pickups"]],
    "a pickup was told twice": [{ pickups: [1, 1] }, ["pickups"]],
    "a pickup was not counted": [{ row: { pickupCount: 0 }, pickups: [] }, ["pickups"]],
    "a release was counted": [{ leases: [{ ...lost, ends: [{ ...ended, how: "release", from: 400 }] }, kept] }, ["pickups"]],
  };
  for (const [name, [changes, promises]] of Object.entries(cases)) {
    test(`it sees that ${name}`, () => assert.deepEqual(violated(changes).sort(), [...promises].sort()));
  }

  test("journals are read across kills: a line cut off, a call without an answer, a successor", async () => {
    const folder = join(temporaryFolder("journals"), "journals");
    mkdirSync(folder);
    const lines = [
      { type: "started", at: 0, instance: "a", pid: 1, via: "x" },
      { type: "claiming", call: 1, at: 1, limit: 2 },
      { type: "claimed", call: 1, at: 2, leases: [["7", "1", 0], ["8", "1", 0]] },
      { type: "ending", call: 2, at: 3, how: "complete", lease: ["7", "1"] },
      { type: "answered", call: 2, at: 4, outcome: "done" },
      { type: "ending", call: 3, at: 5, how: "complete", lease: ["8", "1"] },
    ].map((entry) => JSON.stringify(entry));
    const next = [{ type: "started", at: 9, instance: "b", pid: 2, via: "x" }, { type: "reaping", call: 1, at: 10 }, { type: "reaped", call: 1, at: 11, rows: [["8", 1, false]] }];
    writeFileSync(join(folder, "x.jsonl"), `\n${lines.join("\n")}\n{"type":"cla\n${next.map((entry) => JSON.stringify(entry)).join("\n")}\n`);
    const ledger = await readLedger(folder);
    assert.deepEqual(ledger.leases.get(7)?.[0]?.ends.map(({ outcome }) => outcome), ["done"]);
    assert.deepEqual(ledger.leases.get(8)?.[0]?.ends.map(({ outcome }) => outcome), ["unknown"]);
    assert.deepEqual([ledger.pickups.get(8), ledger.calls, ledger.unknown], [[1], 4, [{ type: "ending", from: 5, error: "killed" }]]);
    const [figures] = figuresOf([{ name: "a kill", from: 4.5, to: 6 }], ledger);
    assert.deepEqual([figures?.times, figures?.touched, figures?.recovered, figures?.unknown], [1, 1, 1, 1]);
  });

  test("work is the same for everybody who knows the seed, and another for another", () => {
    const some = (seed: number) => Array.from({ length: 200 }, (_, n) => workOf(seed, n));
    assert.deepEqual(some(1), some(1));
    assert.notDeepEqual(some(1), some(2));
  });
});
