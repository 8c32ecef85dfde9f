// The journals against the tables: was anything lost, done twice, held twice, or counted twice?
import { checkAttempt } from "./check_attempt.ts";
import { checkHung } from "./check_hung.ts";
import { circumstancesOf } from "./check_timeline.ts";
import { checkWorkflows } from "./check_workflows.ts";
import type { Step } from "./clock.ts";
import { type Finding, type Findings, findings } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import { type AttemptRow, type Query, readTable } from "./table.ts";

/** Where an attempt is, and what it is. */
interface Placed {
  n: number;
  workflowId: number;
}

/** What is known of the rows of one piece of work. */
interface Pieces {
  first: number;
  /** A bit for each attempt number that was seen. */
  numbers: number;
  retried: number;
  retries: number;
  followed: number;
  follows: number;
}

export interface Checked {
  findings: Finding[];
  attempts: number;
  /** No poison, but taken back so often by the faults of the run that it is STUCK. */
  stuckByFaults: number;
  /** Ended by a call whose answer never came. */
  endedUnheard: number;
  /** Leases and pickups of which only a call without an answer can tell. */
  unheardLeases: number;
  unheardPickups: number;
}

/** What the checker has to know beside journals and tables. */
export interface Setting {
  staleAfterMs: number;
  clockSteps: readonly Step[];
  /** How many faults there were. */
  faults: number;
}

export async function check(ledger: Ledger, query: Query, { staleAfterMs, clockSteps, faults }: Setting): Promise<Checked> {
  const found = findings();
  const pieces = new Map<number, Pieces>();
  const placed = new Map<number, Placed>();
  const circumstances = circumstancesOf(ledger, staleAfterMs, clockSteps);
  const totals = { attempts: 0, stuckByFaults: 0, endedUnheard: 0, unheardLeases: 0, unheardPickups: 0 };
  for await (const row of readTable(query)) {
    totals.attempts++;
    placed.set(row.id, { n: row.n, workflowId: row.workflowId });
    count(pieces, row);
    const facts = checkAttempt(row, ledger.leases.get(row.id) ?? [], ledger.pickups.get(row.id) ?? [], circumstances, found);
    totals.stuckByFaults += Number(facts.stuckByFaults);
    totals.endedUnheard += Number(facts.endedUnheard);
    totals.unheardLeases += facts.unheardLeases;
    totals.unheardPickups += facts.unheardPickups;
  }
  for (const id of ledger.leases.keys()) if (!placed.has(id)) found.violation("lost", `attempt ${id} was claimed and is not in the table`);
  checkEnqueues(ledger, pieces, placed, found);
  checkPieces(pieces, found);
  const room = circumstances.claims.reduce((sum, { limit }) => sum + limit, 0);
  if (totals.unheardLeases > room) found.violation("held", `${totals.unheardLeases} leases are in no journal, and all claims without an answer can have brought ${room}`);
  checkHung(ledger.unknown, faults, found);
  await checkWorkflows(ledger, query, found);
  return { ...totals, findings: found.all() };
}

function count(pieces: Map<number, Pieces>, row: AttemptRow): void {
  let piece = pieces.get(row.n);
  if (piece === undefined) pieces.set(row.n, piece = { first: 0, numbers: 0, retried: 0, retries: 0, followed: 0, follows: 0 });
  if (row.kind === "followed") return void piece.follows++;
  if (row.attemptNumber === 1) piece.first++;
  else piece.retries++;
  piece.numbers |= 1 << row.attemptNumber;
  if (row.outcome === "flaky") piece.retried++;
  if (row.kind === "follow" && row.status === "succeeded") piece.followed++;
}

// Of every call all pieces are there or none, and of those acknowledged all, under the ids that were told.
function checkEnqueues(ledger: Ledger, pieces: Map<number, Pieces>, placed: Map<number, Placed>, found: Findings): void {
  // The same work is sent again after a call that did nothing for certain.
  const sentForGood = new Set(ledger.enqueues.filter(({ outcome }) => outcome === "done" || outcome === "unknown").map(({ ns }) => ns[0]));
  for (const { ns, ids, workflowIds, workflowId, outcome, error } of ledger.enqueues) {
    found.checked("lost");
    if (outcome === "done") {
      ids.forEach((id, place) => {
        const is = placed.get(id);
        const home = workflowId ?? workflowIds[place];
        if (is === undefined || is.n !== ns[place]) found.violation("lost", `work ${ns[place]} was acknowledged as attempt ${id}, where the table has ${is?.n ?? "nothing"}`);
        else if (is.workflowId !== home || workflowIds[place] !== home) found.violation("lost", `attempt ${id} is in workflow ${is.workflowId}, was acknowledged in ${workflowIds[place]}, and should be in ${home}`);
      });
      continue;
    }
    const there = ns.filter((n) => (pieces.get(n)?.first ?? 0) > 0);
    const half = there.length !== 0 && there.length !== ns.length;
    const late = there.length > 0 && !sentForGood.has(ns[0]);
    if (half || late) found.violation("lost", `of an enqueue of ${ns.length} (${outcome}: ${error}) ${there.length} are in the table, from work ${ns[0]}`);
  }
}

function checkPieces(pieces: Map<number, Pieces>, found: Findings): void {
  for (const [n, { first, numbers, retried, retries, followed, follows }] of pieces) {
    found.checked("doubled");
    if (first !== 1) found.violation("doubled", `work ${n} is in the table ${first} times`);
    if (retries !== retried || numbers !== (2 << retries + 1) - 2) found.violation("doubled", `work ${n}: ${retried} failures with a retry made ${retries} retries, numbers ${numbers.toString(2)}`);
    if (follows !== followed) found.violation("doubled", `work ${n}: ${followed} completions made ${follows} follow-ups`);
  }
}
