/**
 * What goes into the queue and what comes out of it.
 *
 * @module
 */

/** The payload of each role: `{ builder: { repo: string } }`. Without it every role has a payload of `unknown`. */
export type Payloads = Record<string, unknown>;

/** The names of the roles of `P`. */
export type Role<P extends object> = keyof P & string;

/** A 64-bit id as it is accepted: what this library gives is always the string. */
export type Id = string | number | bigint;

/** When a scheduled attempt is due: not both. */
export type When =
  | {
    /** Milliseconds from now, on the database's clock. */
    delayMs?: number;
    runAt?: undefined;
  }
  | {
    /** An instant: a `Date`, or an ISO 8601 text with its offset. */
    runAt?: Date | string;
    delayMs?: undefined;
  };

/** One attempt to enqueue, see {@linkcode Queue.enqueue}. */
export type NewWork<P extends object = Payloads> = {
  [R in Role<P>]:
    & {
      /** Which kind of worker it is for. */
      role: R;
      /** An integer for the worker to know, say the size of machine wanted. */
      tier?: number | null;
      /** A lower number is claimed first. @default {0} */
      priority?: number;
      /** The workflow to join; without it a new one is made. */
      workflowId?: Id;
      /** At most one open attempt has this key; a second enqueue returns the first one's ids. */
      key?: string | null;
    }
    // It may be left out where its type allows null or undefined.
    & (undefined extends P[R] ? { payload?: P[R] } : null extends P[R] ? { payload?: P[R] } : { payload: P[R] })
    & When;
}[Role<P>];

/** What became of one item of work. */
export interface Enqueued {
  /** The workflow made or joined. */
  workflowId: string;
  /** The attempt made, or the one that has the key. */
  attemptId: string;
  /** False when an attempt that is still open has the same key: then the ids are its ids. */
  created: boolean;
}

/** What proves that an attempt is held: the part of a claim that `heartbeat`, `complete`, `fail` and `release` need. */
export interface Lease {
  /** The attempt. */
  attemptId: Id;
  /** Who claimed it. */
  instanceId: string;
  /** The number that the claim got: any later lease of the attempt has a higher one. */
  fencingToken: Id;
}

/** An attempt that this instance holds. It survives `JSON.stringify`. */
export type Claim<P extends object = Payloads, R extends Role<P> = Role<P>> = {
  [K in R]: {
    acquired: true;
    attemptId: string;
    workflowId: string;
    role: K;
    tier: number | null;
    priority: number;
    /** 1, and one more for each retry. */
    attemptNumber: number;
    /** How often it was reaped so far. */
    pickupCount: number;
    key: string | null;
    /** As it was enqueued; null when there was none. */
    payload: undefined extends P[K] ? Exclude<P[K], undefined> | null : P[K];
    instanceId: string;
    fencingToken: string;
  };
}[R];

/** Why nothing was claimed. */
export type RefusalReason =
  /** The list of roles was empty. */
  | "no_roles_configured"
  /** Nothing is pending for these roles that is not being claimed by others. */
  | "no_pending_eligible"
  /** Something is pending, but all of it was picked up `maxPickups` times. */
  | "pickup_limit_exceeded";

/** A claim, or the reason why there is none: test `acquired`. */
export type DequeueResult<P extends object = Payloads, R extends Role<P> = Role<P>> =
  | Claim<P, R>
  | { acquired: false; reason: RefusalReason };

/** An attempt that the reaper took back. */
export interface Reaped {
  /** The attempt. */
  attemptId: string;
  /** Its workflow. */
  workflowId: string;
  /** Its role. */
  role: string;
  /** With this pickup. */
  pickupCount: number;
  /** Who held it; null when nobody did. */
  previousInstanceId: string | null;
}

/** How one role stands. */
export interface RoleStats {
  /** The role. */
  role: string;
  /** Attempts that can be claimed. */
  pending: number;
  /** Attempts that wait for their time. */
  scheduled: number;
  /** Attempts that somebody holds. */
  inProgress: number;
  /** Attempts that ended well. */
  succeeded: number;
  /** Attempts that failed, exhausted ones too. */
  failed: number;
  /** Age in milliseconds of the oldest pending attempt; null when there is none. */
  oldestPendingMs: number | null;
  /** Milliseconds since the most silent lease gave a sign of life; null when there is none. */
  oldestHeartbeatMs: number | null;
}

/** How the queue stands, see {@linkcode Queue.stats}. */
export interface Stats {
  /** By name of the role. */
  roles: RoleStats[];
  /** How many workflows are STUCK. */
  stuck: number;
}
