/** What is promised, and how often it was looked at. */
export interface Finding {
  readonly promise: string;
  readonly checked: number;
  readonly violations: readonly string[];
}

export const PROMISES = {
  lost: "no attempt is lost: every acknowledged one is there, every unknown batch is there as a whole or not at all",
  terminal: "every attempt ended as its work wants: done, failed for good, or STUCK when it is poison",
  doubled: "nothing is doubled: one row for each piece of work, one retry for each failure, one follow-up for each completion",
  completed: "no attempt is completed twice, and the result kept is that of the one who was told so",
  held: "no attempt is held by two valid leases, and no lease that was lost acts any more",
  tokens: "fencing tokens rise with every lease and every lease taken or handed back, by one each",
  pickups: "every pickup is counted once; a claim and a release are not",
  settled: "every call settles, with an answer or an error, but for drivers that are known not to",
  workflows: "every workflow's status is the one that its attempts make",
} as const;

export type Promised = keyof typeof PROMISES;

/** Collects what was looked at and what was found. */
export interface Findings {
  checked(promise: Promised): void;
  violation(promise: Promised, text: string): void;
  all(): Finding[];
}

export function findings(): Findings {
  const all = new Map<Promised, { checked: number; violations: string[] }>();
  for (const promise of Object.keys(PROMISES) as Promised[]) all.set(promise, { checked: 0, violations: [] });
  return {
    checked: (promise) => void all.get(promise)!.checked++,
    violation: (promise, text) => void all.get(promise)!.violations.push(text),
    all: () => [...all].map(([promise, found]) => ({ promise: PROMISES[promise], ...found })),
  };
}
