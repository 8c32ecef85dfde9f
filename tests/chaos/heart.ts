import type { ChaosQueue } from "./place.ts";
import type { OwnLease, Recorder } from "./record.ts";

/** Keeps a worker's leases alive and knows which of them it still has. */
export interface Heart {
  watch(claims: readonly OwnLease[]): void;
  forget(claim: OwnLease): void;
  has(claim: OwnLease): boolean;
}

/** Heartbeats for all leases in one call, one call after the other, however long one takes. */
export function startHeart(queue: ChaosQueue, record: Recorder, everyMs: number): Heart {
  const held = new Map<string, OwnLease>();
  setTimeout(beat, everyMs);
  return {
    watch: (claims) => claims.forEach((claim) => held.set(claim.attemptId, claim)),
    forget: (claim) => void (has(claim) && held.delete(claim.attemptId)),
    has,
  };

  // By the token as well: an attempt that was lost may have been claimed again since.
  function has({ attemptId, fencingToken }: OwnLease): boolean {
    return held.get(attemptId)?.fencingToken === fencingToken;
  }

  async function beat(): Promise<void> {
    const leases = [...held.values()];
    const beats = leases.length === 0 ? [] : await record.beat(leases, () => queue.heartbeat(leases));
    leases.forEach((lease, place) => {
      if (beats[place]?.held === false && has(lease)) held.delete(lease.attemptId);
    });
    setTimeout(beat, everyMs);
  }
}
