import assert from "node:assert/strict";
import type { Claim, Enqueued } from "../../mod.ts";
import type { Move } from "./contenders.ts";
import {
  type Arrange, broken, claimed, completed, pending, reapedBy, type Row, siblingOfFailed, type Stage, STALE_MS, stale, stuck, type Subject, summary,
} from "./edge_stages.ts";

/** How many take part in a race, at the most. */
export const PROCESSES = 4;
const LOST = "lease_lost";

/** One race: what is there before, who does what at the same moment, and what must be true of it. */
export interface Race<S extends Subject = Subject> {
  arrange: Arrange<S>;
  moves(subjects: S[], role: string): Move[];
  judge(results: unknown[], rows: Row[], workflow: string | undefined, stage: Stage, subjects: S[], role: string): Promise<void> | void;
}

const REAP: Move = ["reap", { staleAfterMs: STALE_MS }];
const REAP_AT_ONE: Move = ["reap", { staleAfterMs: STALE_MS, maxPickups: 1 }];
const PRUNE: Move = ["prune", { olderThanMs: 0 }];

/** A stale lease: its holder and a reaper. The tuple is what the holder makes of the row when it wins. */
function againstReap(act: (claim: Claim) => Move, won: unknown[], isLost: (result: unknown) => boolean = (result) => result === LOST): Race<Claim> {
  return {
    arrange: stale(1),
    moves: ([claim]) => [act(claim!), REAP],
    judge: ([acted, reaped], [row]) => {
      const taken = reapedBy(reaped).length === 1;
      assert.equal(taken, isLost(acted), JSON.stringify([acted, reaped]));
      if (!taken) assert.ok(typeof acted !== "string" || acted === "done", String(acted));
      assert.deepEqual(summary(row!), taken ? ["pending", 1, 2] : won);
    },
  };
}

/** What two holders of the same lease do: it ends once. */
function twice(...acts: ((claim: Claim) => Move)[]): Race<Claim> {
  return {
    arrange: claimed(1),
    moves: ([claim]) => acts.map((act) => act(claim!)),
    judge: (results) => assert.deepEqual(results.toSorted(), [...Array(acts.length - 1).fill(LOST), "done"].toSorted()),
  };
}

/** What must have come of a move beside prune: its answer, and the rows with their workflow; no rows where prune may take it afterwards. */
interface Beside<S extends Subject> {
  arrange: Arrange<S>;
  act(subject: S, role: string): Move;
  /** Of the answer alone; true where prune came first, and it is told so. */
  isTooLate?(acted: unknown): boolean;
  isDone(acted: unknown, subject: S): boolean;
  /** Statuses of the attempts, and that of the workflow. */
  leaves: [attempts: string[], workflow: string];
}

const ENDED = ["SUCCEEDED", "FAILED", "CANCELLED"];
const isSaidDone = (acted: unknown) => acted === "done";

/** Prune beside something: what is open or STUCK stays and the move is done; what has ended goes as a whole or not at all. */
function besidePrune<S extends Subject>({ arrange, act, isTooLate = () => false, isDone, leaves }: Beside<S>): Race<S> {
  return {
    arrange,
    moves: ([subject], role) => [act(subject!, role), PRUNE, PRUNE],
    judge: async ([acted, ...pruned], rows, workflow, { opened }, [subject]) => {
      for (const each of pruned) assert.equal(typeof each, "object", String(each));
      const orphans = await opened.sql("select attempt_id from workflow_attempts where workflow_id not in (select workflow_id from workflows)");
      assert.deepEqual(orphans, []);
      const late = isTooLate(acted);
      assert.ok(late || isDone(acted, subject!), JSON.stringify(acted));
      const left = [rows.map(({ status }) => status).sort(), workflow];
      if (late || rows.length === 0 && ENDED.includes(leaves[1])) assert.deepEqual(left, [[], undefined]);
      else assert.deepEqual(left, leaves);
    },
  };
}

/** By name. */
export const RACES: Record<string, Race> = {
  "complete against reap": againstReap((claim) => ["complete", claim, { outcome: "won" }], ["succeeded", 0, 1]),
  "complete with a follow-up against reap at the limit": {
    arrange: stale(1),
    moves: ([claim], role) => [["complete", claim, { next: [{ role, key: role }] }], REAP_AT_ONE],
    judge: ([completed, reaped], rows, workflow) => {
      const taken = reapedBy(reaped).length === 1;
      assert.equal(completed, taken ? LOST : "done");
      assert.deepEqual([rows.length, workflow], taken ? [1, "STUCK"] : [2, "ACTIVE"]);
    },
  },
  "fail against reap": againstReap((claim) => ["fail", claim, { error: "late" }], ["failed", 0, 1]),
  "heartbeat against reap": againstReap((claim) => ["heartbeat", claim], ["in_progress", 0, 1], (result) => (result as { held?: boolean }).held === false),
  "release against reap": againstReap((claim) => ["release", claim], ["pending", 0, 2]),
  "four reapers": {
    arrange: stale(6),
    moves: () => Array(PROCESSES).fill(REAP),
    judge: (results, rows, _workflow, _stage, claims) => {
      assert.deepEqual(results.flatMap(reapedBy).sort(), claims.map(({ attemptId }) => attemptId).sort());
      for (const row of rows) assert.deepEqual(summary(row), ["pending", 1, 2]);
    },
  },
  "four reapers at the limit": {
    arrange: stale(4),
    moves: () => Array(PROCESSES).fill(REAP_AT_ONE),
    judge: async (results, rows, workflow, { queue }, claims) => {
      // Whose workflow another reaper is just making STUCK is left for the next round.
      const late = reapedBy(await queue.reap({ staleAfterMs: STALE_MS, maxPickups: 1 }));
      assert.deepEqual([...results.flatMap(reapedBy), ...late].sort(), claims.map(({ attemptId }) => attemptId).sort());
      assert.equal(workflow, "STUCK");
      for (const row of rows) if (!late.includes(String(row["attempt_id"]))) assert.deepEqual(summary(row), ["failed", 1, 2]);
    },
  },
  "retry against reap": {
    arrange: async (stage, role) => {
      const claims = await stale(2)(stage, role);
      await stage.queue.reap({ staleAfterMs: STALE_MS, maxPickups: 1, limit: 1 });
      return claims;
    },
    moves: ([claim]) => [["retry", claim!.workflowId], REAP_AT_ONE],
    judge: async ([retried, reaped], _rows, _workflow, { queue, opened }, claims) => {
      assert.deepEqual([retried, typeof reaped], ["done", "object"]);
      await queue.reap({ staleAfterMs: STALE_MS, maxPickups: 1 });
      const rows = await opened.sql(`select * from workflow_attempts where workflow_id = ${claims[0]!.workflowId} order by attempt_id`);
      const [workflow] = await opened.sql(`select status from workflows where workflow_id = ${claims[0]!.workflowId}`);
      assert.equal(workflow?.["status"], rows.some(({ outcome }) => outcome === "attempt-pickup-exhausted") ? "STUCK" : "ACTIVE");
      assert.equal(rows[0]!["status"], "pending");
    },
  },
  "cancel against complete": {
    arrange: claimed(1),
    moves: ([claim]) => [["cancel", claim!.workflowId], ["complete", claim!]],
    judge: ([cancelled, completed], [row], workflow) => {
      const won = completed === "done";
      assert.deepEqual([cancelled, completed], won ? ["wrong_state", "done"] : ["done", LOST]);
      assert.deepEqual([...summary(row!), workflow], won ? ["succeeded", 0, 1, "SUCCEEDED"] : ["cancelled", 0, 2, "CANCELLED"]);
    },
  },
  "cancel against dequeue": {
    arrange: pending,
    moves: ([claim], role) => [["cancel", claim!.workflowId], ["dequeue", { roles: [role] }]],
    judge: ([cancelled, result], [row], workflow) => {
      assert.deepEqual([cancelled, workflow], ["done", "CANCELLED"]);
      assert.deepEqual(summary(row!), ["cancelled", 0, (result as Claim).acquired ? 2 : 1]);
    },
  },
  "one attempt, four claimers": {
    arrange: pending,
    moves: (_claims, role) => Array(PROCESSES).fill(["dequeue", { roles: [role] }]),
    judge: (results, [row]) => {
      assert.deepEqual(results.map((result) => (result as Claim).acquired).sort(), [false, false, false, true]);
      assert.deepEqual(summary(row!), ["in_progress", 0, 1]);
    },
  },
  "key against key": {
    arrange: async () => [],
    moves: (_claims, role) => Array(PROCESSES).fill(["enqueue", { role, key: role }]),
    judge: async (results, _rows, _workflow, { opened }, _claims, role) => {
      const made = results as Enqueued[];
      assert.equal(new Set(made.map(({ attemptId, workflowId }) => `${attemptId}/${workflowId}`)).size, 1, JSON.stringify(results));
      assert.deepEqual(made.map(({ created }) => created).sort(), [false, false, false, true]);
      assert.equal((await opened.sql(`select 1 from workflow_attempts where key = '${role}'`)).length, 1);
    },
  },
  "keys against keys in opposite lists": {
    arrange: async () => [],
    moves: (_claims, role) => [1, -1, 1, -1].map((way) => ["enqueue", [1, 2, 3, 4, 5].map((n) => ({ role, key: `${role}/${way * n + (way < 0 ? 6 : 0)}` }))]),
    judge: (results, _rows, _workflow, _stage, _claims, role) => {
      const lists = results as Enqueued[][];
      const byKey = lists.map((list, place) => (place % 2 === 0 ? list : list.toReversed()).map(({ attemptId }) => attemptId));
      for (const ids of byKey) assert.deepEqual(ids, byKey[0], `${role} ${JSON.stringify(results)}`);
      assert.equal(lists.flat().filter(({ created }) => created).length, 5);
    },
  },
  "complete against complete": twice((claim) => ["complete", claim], (claim) => ["complete", claim], (claim) => ["complete", claim]),
  "complete against fail against release": twice((claim) => ["complete", claim], (claim) => ["fail", claim, { retry: {} }], (claim) => ["release", claim]),
  "prune against enqueue onto a workflow": besidePrune({
    arrange: completed,
    act: ({ workflowId }, role) => ["enqueue", { role, workflowId }],
    isTooLate: (acted) => acted === "not_found",
    isDone: (acted) => (acted as Enqueued).created,
    leaves: [["pending", "succeeded"], "ACTIVE"],
  }),
  "prune against the last complete": besidePrune({ arrange: claimed(1), act: (claim) => ["complete", claim], isDone: isSaidDone, leaves: [["succeeded"], "SUCCEEDED"] }),
  "prune against complete with a follow-up": besidePrune({
    arrange: claimed(1),
    act: (claim, role) => ["complete", claim, { next: [{ role }] }],
    isDone: isSaidDone,
    leaves: [["pending", "succeeded"], "ACTIVE"],
  }),
  "prune against complete in a workflow that is FAILED": besidePrune({
    arrange: siblingOfFailed,
    act: (claim) => ["complete", claim],
    isDone: isSaidDone,
    leaves: [["failed", "succeeded"], "FAILED"],
  }),
  "prune against fail with a retry": besidePrune({
    arrange: claimed(1),
    act: (claim) => ["fail", claim, { retry: {} }],
    isDone: isSaidDone,
    leaves: [["failed", "pending"], "ACTIVE"],
  }),
  "prune against cancel": besidePrune({ arrange: claimed(1), act: ({ workflowId }) => ["cancel", workflowId], isDone: isSaidDone, leaves: [["cancelled"], "CANCELLED"] }),
  "prune against retry": besidePrune({ arrange: stuck, act: ({ workflowId }) => ["retry", workflowId], isDone: isSaidDone, leaves: [["pending"], "ACTIVE"] }),
  "prune against reap": besidePrune({ arrange: stale(1), act: () => REAP, isDone: isReaped, leaves: [["pending"], "ACTIVE"] }),
  "prune against reap of what a worker broke at": besidePrune({ arrange: broken, act: () => REAP, isDone: isReaped, leaves: [["pending"], "ACTIVE"] }),
  "prune against dequeue": besidePrune({
    arrange: pending,
    act: (_subject, role) => ["dequeue", { roles: [role] }],
    isDone: (acted, { attemptId }) => (acted as Claim).attemptId === attemptId,
    leaves: [["in_progress"], "ACTIVE"],
  }),
  "prune against heartbeat": besidePrune({
    arrange: claimed(1),
    act: (claim) => ["heartbeat", claim],
    isDone: (acted) => (acted as { held?: boolean }).held === true,
    leaves: [["in_progress"], "ACTIVE"],
  }),
};

function isReaped(acted: unknown, { attemptId }: Subject): boolean {
  return reapedBy(acted).includes(attemptId);
}
