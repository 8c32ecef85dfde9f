import type { Claim, Lease, Queue } from "../../mod.ts";
import type { Work } from "./roles.ts";

const BEAT_EVERY_MS = 400;

/** Keeps a worker's leases alive and knows which of them it still has. */
export interface Heart {
  /** Take care of these from now on. */
  watch(claims: readonly Claim<Work>[]): void;
  /** This one is about to be completed. */
  forget(claim: Claim<Work>): void;
  has(claim: Claim<Work>): boolean;
  /** One last heartbeat, then none until `resume`. */
  pause(): Promise<void>;
  /** A heartbeat now and then again regularly. */
  resume(): Promise<void>;
}

/** @param lost Told of leases that a heartbeat found gone. */
export function startHeart(queue: Queue<Work>, lost: (leases: Lease[]) => void): Heart {
  const held = new Map<string, Claim<Work>>();
  let timer: NodeJS.Timeout | undefined;
  let beating: Promise<void> = Promise.resolve();
  void resume();
  return {
    watch: (claims) => claims.forEach((claim) => held.set(claim.attemptId, claim)),
    forget: (claim) => void held.delete(claim.attemptId),
    has: (claim) => held.has(claim.attemptId),
    pause,
    resume,
  };

  function resume(): Promise<void> {
    timer = setInterval(next, BEAT_EVERY_MS).unref();
    return next();
  }

  function pause(): Promise<void> {
    clearInterval(timer);
    return next();
  }

  // One after the other, however long one takes. An error ends the process, as nobody catches it.
  function next(): Promise<void> {
    return beating = beating.then(beat);
  }

  async function beat(): Promise<void> {
    const claims = [...held.values()];
    if (claims.length === 0) return;
    const beats = await queue.heartbeat(claims);
    // What was forgotten while the heartbeat was under way is not lost.
    const gone = claims.filter((claim, place) => !beats[place]?.held && held.delete(claim.attemptId));
    if (gone.length > 0) lost(gone);
  }
}
