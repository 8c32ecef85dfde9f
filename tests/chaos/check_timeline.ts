// The life of an attempt in the order of its tokens: each lease was claimed by somebody, and each was taken back by somebody
// once it was stale. What no journal tells of needs a call whose answer never came, one for each, at a time that fits.
import { UNHEARD_MS } from "./calls.ts";
import { forwardBetween, type Step } from "./clock.ts";
import type { LeaseRecord, Ledger, Pickup, UnknownCall } from "./ledger.ts";
import type { AttemptRow } from "./table.ts";

/** What the journals of a run leave open. */
export interface Circumstances {
  staleAfterMs: number;
  /** The claims and the reaps whose answers never came, by the time at which they were sent. */
  claims: readonly UnknownCall[];
  reaps: readonly UnknownCall[];
  clockSteps: readonly Step[];
}

export interface Timeline {
  /** Leases and pickups that no journal tells of. */
  unheardLeases: number;
  unheardPickups: number;
}

// Both clocks are the machine's, and one of the databases counts whole milliseconds.
const MARGIN_MS = 20;

export function circumstancesOf(ledger: Pick<Ledger, "unknown">, staleAfterMs: number, clockSteps: readonly Step[]): Circumstances {
  const unanswered = (type: UnknownCall["type"]) => ledger.unknown.filter((call) => call.type === type);
  return { staleAfterMs, claims: unanswered("claiming"), reaps: unanswered("reaping"), clockSteps };
}

/** The earliest moment at which a lease may be taken back that gave its last sign at `sign`; `by` is the moment in question. */
export function staleAt(sign: number, by: number, { staleAfterMs, clockSteps }: Circumstances): number {
  return sign + staleAfterMs - MARGIN_MS - forwardBetween(clockSteps, sign, by);
}

export function checkTimeline(
  row: AttemptRow, leases: readonly LeaseRecord[], pickups: readonly Pickup[], circumstances: Circumstances, say: (promise: "held" | "pickups", text: string) => void,
): Timeline {
  const usedClaims = new Set<UnknownCall>();
  const usedReaps = new Set<UnknownCall>();
  const timeline = { unheardLeases: 0, unheardPickups: 0 };
  const released = releasedTokens(row, leases);
  let counted = 0;
  // The earliest moment at which the life may have come so far.
  let since = -Infinity;
  for (let token = 1; token <= row.token; token += 2) {
    const lease = leases.find((each) => each.token === token);
    const later = leases.find((each) => each.token > token)?.to ?? Infinity;
    const isTakenBack = token < row.token;
    const told = isTakenBack && !released.has(token) ? pickups.find(({ count }) => count === counted + 1) : undefined;
    begin(token, lease, Math.min(later, told?.to ?? Infinity));
    if (!isTakenBack) break;
    // Of two who were given the same token, which is a violation of its own, either may have released it.
    const release = leases.filter((each) => each.token === token).flatMap(({ ends }) => ends).find(({ how }) => how === "release");
    if (released.has(token)) since = Math.max(since, release?.from ?? since);
    else takeBack(token, lease, told, later);
  }
  return timeline;

  function begin(token: number, lease: LeaseRecord | undefined, before: number): void {
    if (lease !== undefined) return void (since = Math.max(since, lease.from));
    timeline.unheardLeases++;
    const claim = take(circumstances.claims, usedClaims, since, before);
    if (claim === undefined) say("held", `nobody claimed lease ${token}: no journal has it, and no claim without an answer can have made it`);
    else since = Math.max(since, claim.from);
  }

  function takeBack(token: number, lease: LeaseRecord | undefined, told: Pickup | undefined, later: number): void {
    counted++;
    const broke = lease?.ends.find(({ how, outcome }) => how === "break" && (outcome === "done" || outcome === "unknown"));
    const by = Math.min(told?.to ?? Infinity, later);
    const stale = staleAt(lease?.lastSign ?? since, by === Infinity ? UNHEARD_MS + since : by, circumstances);
    // Who breaks after that breaks what was taken back already.
    const due = Math.min(broke?.from ?? Infinity, stale);
    if (told) {
      if (told.to < due) say("held", `lease ${token} was taken back as pickup ${counted} while it was alive`);
      since = Math.max(since, due, told.from);
      return;
    }
    timeline.unheardPickups++;
    const reap = take(circumstances.reaps, usedReaps, due, later);
    if (reap === undefined) say("pickups", `pickup ${counted} was counted by nobody: no reap told of it, and none without an answer can have made it`);
    else since = Math.max(since, due, reap.from);
  }
}

// Those of its tokens whose lease was handed back and not counted: by whoever was told so, else by whom nobody answered.
function releasedTokens(row: AttemptRow, leases: readonly LeaseRecord[]): Set<number> {
  const by = (wanted: string) => leases.filter(({ ends }) => ends.some(({ how, outcome }) => how === "release" && outcome === wanted));
  const tokens = new Set([...by("done"), ...by("unknown")].map(({ token }) => token).filter((token) => token < row.token));
  return new Set([...tokens].slice(0, Math.max(0, Math.floor(row.token / 2) - row.pickupCount)));
}

/** The first call not taken yet that was sent before `before` and may have taken effect after `after`: each does it once. */
function take(calls: readonly UnknownCall[], taken: Set<UnknownCall>, after: number, before: number): UnknownCall | undefined {
  const call = calls.find((each) => !taken.has(each) && each.from + UNHEARD_MS >= after && each.from <= before);
  if (call) taken.add(call);
  return call;
}
