// The journals against the tables: was anything lost, done twice, held twice, or counted twice?
import { checkAttempt } from "./check_attempt.ts";
import { type Finding, type Findings, findings } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import { type AttemptRow, readTable, WRONG_WORKFLOWS } from "./table.ts";

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
}

export async function check(ledger: Ledger, query: (sql: string) => Promise<Record<string, unknown>[]>, staleAfterMs: number): Promise<Checked> {
  const found = findings();
  const pieces = new Map<number, Pieces>();
  const nOf = new Map<number, number>();
  const totals = { attempts: 0, stuckByFaults: 0, endedUnheard: 0, unheardPickups: 0 };
  for await (const row of readTable(query)) {
    totals.attempts++;
    nOf.set(row.id, row.n);
    count(pieces, row);
    const facts = checkAttempt(row, ledger.leases.get(row.id) ?? [], ledger.pickups.get(row.id) ?? [], staleAfterMs, found);
    totals.stuckByFaults += Number(facts.stuckByFaults);
    totals.endedUnheard += Number(facts.endedUnheard);
    totals.unheardPickups += facts.unheardPickups;
  }
  for (const id of ledger.leases.keys()) if (!nOf.has(id)) found.violation("lost", `attempt ${id} was claimed and is not in the table`);
  checkEnqueues(ledger, pieces, nOf, found);
  checkPieces(pieces, found);
  checkReaps(ledger, totals.unheardPickups, found);
  for (const row of await query(WRONG_WORKFLOWS)) found.violation("workflows", JSON.stringify(row));
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
function checkEnqueues(ledger: Ledger, pieces: Map<number, Pieces>, nOf: Map<number, number>, found: Findings): void {
  // The same work is sent again after a call that did nothing for certain.
  const sentForGood = new Set(ledger.enqueues.filter(({ outcome }) => outcome === "done" || outcome === "unknown").map(({ ns }) => ns[0]));
  for (const { ns, ids, outcome, error } of ledger.enqueues) {
    found.checked("lost");
    if (outcome === "done") {
      ids.forEach((id, place) => {
        if (nOf.get(id) !== ns[place]) found.violation("lost", `work ${ns[place]} was acknowledged as attempt ${id}, where the table has ${nOf.get(id) ?? "nothing"}`);
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

// A reap without an answer may have counted; nothing else counts unheard.
function checkReaps(ledger: Ledger, unheardPickups: number, found: Findings): void {
  found.checked("pickups");
  if (unheardPickups > 0 && !ledger.unknown.some(({ type }) => type === "reaping")) {
    found.violation("pickups", `${unheardPickups} pickups were counted that no reap answered, and every reap was answered`);
  }
}
