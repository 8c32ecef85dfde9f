import { checkTimeline, type Circumstances, staleAt, type Timeline } from "./check_timeline.ts";
import type { Findings } from "./findings.ts";
import type { LeaseRecord, Pickup } from "./ledger.ts";
import type { AttemptRow } from "./table.ts";
import { isPoison, MAX_PICKUPS } from "./work.ts";

export interface AttemptFacts extends Timeline {
  stuckByFaults: boolean;
  endedUnheard: boolean;
}

const ENDS = { succeeded: ["complete"], failed: ["fail", "retry"] } as const;

/** Holds what the journals say of one attempt against its row. */
export function checkAttempt(row: AttemptRow, leases: readonly LeaseRecord[], pickups: readonly Pickup[], circumstances: Circumstances, found: Findings): AttemptFacts {
  const say = (promise: Parameters<Findings["violation"]>[0], text: string) =>
    found.violation(promise, `${text}: ${JSON.stringify(row)} ${JSON.stringify(leases)} pickups ${JSON.stringify(pickups)}`);
  // The reaper gives it another pickup only while its workflow is ACTIVE: in one that failed or is STUCK it stays.
  const isBroken = row.status === "failed" && row.outcome === "worker-internal-error" && row.kind === "broken" && row.workflowStatus !== "ACTIVE";
  const exhausted = row.status === "failed" && row.outcome === "attempt-pickup-exhausted";
  checkTerminal();
  checkLeases();
  checkCounts();
  const timeline = checkTimeline(row, leases, pickups, circumstances, say);
  return { stuckByFaults: exhausted && !isPoison(row.kind), endedUnheard: checkEnd(), ...timeline };

  function checkTerminal(): void {
    found.checked("terminal");
    const { status, outcome, kind } = row;
    const ended = `${status}/${outcome}`;
    const wanted = isPoison(kind) ? "failed/attempt-pickup-exhausted"
      : kind === "doomed" ? "failed/doomed"
      : kind === "flaky" && row.attemptNumber <= row.fails ? "failed/flaky" : "succeeded/done";
    if (ended !== wanted && !exhausted && !isBroken) say("terminal", `an attempt ended as ${ended} instead of ${wanted}`);
    if (exhausted && row.pickupCount !== MAX_PICKUPS) say("terminal", `an attempt is STUCK after ${row.pickupCount} pickups`);
    if (kind === "broken" && row.pickupCount === 0 && !isBroken) say("pickups", "a worker broke and no pickup was counted");
  }

  // Whose word was it that ended it? True when it was said and never answered.
  function checkEnd(): boolean {
    found.checked("completed");
    const told = leases.flatMap((lease) => lease.ends.filter(({ outcome, how }) => outcome === "done" && how !== "release" && how !== "break").map(() => lease));
    if (told.length > 1) say("completed", `${told.length} ends of an attempt were acknowledged`);
    if (row.status !== "succeeded" && (row.status !== "failed" || exhausted) || isBroken) {
      if (told.length > 0) say("completed", "an end was acknowledged and the row does not have it");
      const breaker = leases.find(({ token }) => token === row.token);
      const broke = breaker?.ends.some(({ how, outcome }) => how === "break" && (outcome === "done" || outcome === "unknown"));
      if (isBroken && !broke) say("completed", "an attempt failed with worker-internal-error and nobody said so");
      return false;
    }
    const kept = leases.find(({ instance, token }) => instance === row.result?.instance && String(token) === row.result.token);
    if (kept === undefined) {
      say("completed", "the result is that of nobody who held the attempt");
      return false;
    }
    if (kept.token !== row.token || kept.instance !== row.owner || row.result?.n !== row.n) say("completed", "the result is not that of the last lease");
    const ends = kept.ends.filter(({ how }) => (ENDS[row.status as keyof typeof ENDS] as readonly string[]).includes(how));
    if (told.length === 1 && told[0] !== kept) say("completed", "another was told that it ended the attempt");
    const mayBe = ends.some(({ outcome }) => outcome === "done" || outcome === "unknown");
    if (!mayBe) say("completed", "the one who ended the attempt was told that nothing was changed");
    return told.length === 0;
  }

  function checkLeases(): void {
    for (const [place, lease] of leases.entries()) {
      found.checked("held");
      const next = leases[place + 1];
      const acknowledged = lease.ends.find(({ outcome }) => outcome === "done");
      const isRefused = lease.ends.some(({ outcome }) => outcome === "refused") && lease.ends.every(({ outcome }) => outcome === "refused" || outcome === "nothing");
      if (isRefused && row.token === lease.token) say("held", `lease ${lease.token} was never taken back, and its holder was told that it is lost`);
      if (next === undefined) continue;
      if (next.token === lease.token) say("tokens", `token ${lease.token} was given twice`);
      if (next.to < lease.from) say("tokens", `token ${next.token} was given before token ${lease.token}`);
      const letGo = lease.ends.some(({ how, from, outcome }) => (how === "release" || how === "break") && (outcome === "done" || outcome === "unknown") && from < next.to);
      if (!letGo && next.to < staleAt(lease.lastSign, next.to, circumstances)) say("held", `lease ${next.token} began while lease ${lease.token} was alive`);
      if (lease.lastSign > next.to) say("held", `lease ${lease.token} had a heartbeat after lease ${next.token} began`);
      if (acknowledged && acknowledged.from > next.to) say("held", `lease ${lease.token} acted after lease ${next.token} began`);
      const isOver = acknowledged && (acknowledged.how === "complete" || acknowledged.how === "fail" || acknowledged.how === "retry");
      if (isOver) say("held", `lease ${next.token} began after lease ${lease.token} had ended the attempt`);
      if (next.pickupCount < lease.pickupCount) say("pickups", `the pickup count fell with lease ${next.token}`);
    }
  }

  // Each lease makes the token one higher, and so does each pickup and each release: nothing else does.
  function checkCounts(): void {
    found.checked("tokens");
    found.checked("pickups");
    const held = row.status === "succeeded" || row.status === "failed" && !exhausted;
    if (row.token % 2 !== Number(held)) say("tokens", `the last token of an attempt that ${held ? "was ended by its holder" : "was taken back"} is ${row.token}`);
    if (leases.some(({ token }) => token % 2 !== 1 || token > row.token)) say("tokens", "a lease had a token that no lease can have");
    const handedBack = Math.floor(row.token / 2);
    const releases = (...outcomes: string[]) =>
      leases.filter(({ ends }) => ends.some(({ how, outcome }) => how === "release" && outcomes.includes(outcome))).length;
    const [certain, atMost] = [releases("done"), releases("done", "unknown")];
    const counted = handedBack - row.pickupCount;
    if (counted < certain || counted > atMost) say("pickups", `${handedBack} leases were taken or handed back, ${row.pickupCount} counted, and ${certain} to ${atMost} released`);
    if (new Set(pickups.map(({ count }) => count)).size !== pickups.length) say("pickups", "a pickup was counted twice");
    if (pickups.some(({ count }) => count < 1 || count > row.pickupCount)) say("pickups", "a reap told of a pickup that was not counted");
    if (pickups.some(({ count, stuck }) => stuck !== (count >= MAX_PICKUPS))) say("pickups", "a reap made an attempt STUCK before its time, or not in time");
  }
}
