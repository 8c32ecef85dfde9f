/** Work as the commands name it: an instant is an offset from now, which each subject reads on its own clock. */
export interface Work {
  role: string;
  tier?: number;
  priority?: number;
  payload?: unknown;
  key?: string;
  workflowId?: string;
  delayMs?: number;
  runInMs?: number;
}

export interface Lease {
  attemptId: string;
  instanceId: string;
  fencingToken: string;
}

/** What came of an operation, as plain data. */
export type Outcome = unknown;

/** What the commands are run on: the model, and each backend. Ids are the model's: numbers in the order of creation. */
export interface Subject {
  enqueue(list: readonly Work[]): Outcome;
  dequeue(roles: readonly string[], owner: string, maxPickups: number): Outcome;
  dequeueMany(roles: readonly string[], limit: number, owner: string, maxPickups: number): Outcome;
  heartbeat(leases: readonly Lease[]): Outcome;
  complete(lease: Lease, outcome: string | null, result: unknown, next: readonly Work[]): Outcome;
  fail(lease: Lease, options: FailOptions): Outcome;
  release(lease: Lease): Outcome;
  reap(staleAfterMs: number, maxPickups: number, limit?: number): Outcome;
  retry(workflowId: string): Outcome;
  cancel(workflowId: string): Outcome;
  prune(olderThanMs: number): Outcome;
  /** Counts and, in place of the ages in milliseconds, the whole steps of the clock in them. */
  stats(): Outcome;
  /** What the older program inserts: only its own columns, and a workflow that need not be there. */
  olderInsert(workflowId: string, role: string, createdAgoMs: number): Outcome;
  /** What it claims and then never looks at again. */
  olderClaim(role: string): Outcome;
  /** Time goes by. */
  advance(ms: number): Outcome;
  /** Both tables; of each time the whole steps of the clock since then, or null. */
  dump(): Outcome;
}

export interface FailOptions {
  outcome: string | null;
  error: string | null;
  result: unknown;
  retry?: { delayMs?: number; tier?: number };
}

/** The clock moves by multiples of it, and every limit lies half a step away: the milliseconds a run takes decide nothing. */
export const STEP_MS = 10_000;

// Far apart, so that an id says whose it is.
export const FIRST_WORKFLOW = 1001;
export const FIRST_ATTEMPT = 100_001;

/** A workflow that only the older program's attempts name: it has no row until it is STUCK. */
export const OLDER_WORKFLOW = "1";

/** In place of an id whose number depends on who came first. */
export const NEW = "new";

export const OLDER_PROGRAM = "older-program";
export const INTERNAL_ERROR = "worker-internal-error";
export const EXHAUSTED = "attempt-pickup-exhausted";
