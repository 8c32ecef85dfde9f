import type { Ledger } from "./ledger.ts";

/** One time that a fault happened, on the clock of the journals. */
export interface Occurrence {
  name: string;
  from: number;
  to: number;
  /** How many processes, connections or calls it laid its hands on. */
  hands: number;
}

/** What a kind of fault did in all. */
export interface FaultFigures {
  name: string;
  times: number;
  seconds: number;
  /** Processes, connections or calls that it laid its hands on. */
  hands: number;
  /** Attempts that somebody held while it lasted. */
  touched: number;
  /** Leases taken back from then until the next fault. */
  recovered: number;
  /** Calls begun from then until the next fault whose effect nobody ever learned. */
  unknown: number;
  /** How long it took at the most, from its beginning, until an attempt was ended again. */
  longestGapMs: number;
}

export function figuresOf(occurrences: readonly Occurrence[], ledger: Ledger, staleAfterMs: number): FaultFigures[] {
  const starts = occurrences.map(({ from }) => from);
  const touched = occurrences.map(() => new Set<number>());
  const recovered = occurrences.map(() => 0);
  const unknown = occurrences.map(() => 0);
  const gaps = gapsAfter(occurrences, ledger);

  for (const [attempt, leases] of ledger.leases) {
    for (const { from, lastSign, ends } of leases) {
      // Whoever was killed or never spoke of it again had it until it was stale.
      const until = Math.max(ends.length > 0 ? lastSign : lastSign + staleAfterMs, ...ends.map((end) => end.from));
      for (let place = Math.max(0, before(starts, from)); place < starts.length && starts[place]! <= until; place++) {
        if (from <= occurrences[place]!.to) touched[place]!.add(attempt);
      }
    }
  }
  for (const at of ledger.reapedAt) add(recovered, before(starts, at));
  for (const { from, error } of ledger.unknown) {
    // A call that was open when its process was killed began before.
    add(unknown, before(starts, error === "killed" ? from + 1_000 : from));
  }

  const kinds = new Map<string, FaultFigures>();
  occurrences.forEach(({ name, from, to, hands }, place) => {
    const sum = kinds.get(name) ?? { name, times: 0, seconds: 0, hands: 0, touched: 0, recovered: 0, unknown: 0, longestGapMs: 0 };
    sum.times++;
    sum.seconds += (to - from) / 1_000;
    sum.hands += hands;
    sum.touched += touched[place]!.size;
    sum.recovered += recovered[place]!;
    sum.unknown += unknown[place]!;
    sum.longestGapMs = Math.max(sum.longestGapMs, gaps[place]!);
    kinds.set(name, sum);
  });
  return [...kinds.values()].sort((a, b) => a.name.localeCompare(b.name));
}

// The longest time without an acknowledged end that began between this fault and the next.
function gapsAfter(occurrences: readonly Occurrence[], ledger: Ledger): number[] {
  const ends = [...ledger.leases.values()].flat().flatMap((lease) => lease.ends.filter(({ outcome }) => outcome === "done").map(({ to }) => to)).sort((a, b) => a - b);
  const longest = occurrences.map(() => 0);
  const starts = occurrences.map(({ from }) => from);
  ends.forEach((end, place) => {
    const fault = before(starts, end);
    if (fault >= 0) longest[fault] = Math.max(longest[fault]!, end - Math.max(ends[place - 1] ?? 0, starts[fault]!));
  });
  return longest;
}

function add(counts: number[], place: number): void {
  if (place >= 0) counts[place]!++;
}

/** The place of the last of these times that is not after `at`, -1 if there is none. */
function before(times: readonly number[], at: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = low + high >> 1;
    if (times[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
