import type { Claim, Reaped } from "../../mod.ts";
import { type Answer, settle } from "./calls.ts";
import { now } from "./clock.ts";
import type { Ending, Held, Journal, Outcome } from "./journal.ts";

/** A lease of this process, as its claim gave it. */
export type OwnLease = Pick<Claim, "attemptId" | "instanceId" | "fencingToken">;

/** Makes a process's calls and writes down each, before it is made and when it is answered. */
export interface Recorder {
  claim<T extends Claim>(limit: number, call: () => Promise<T[]>): Promise<T[]>;
  beat(leases: readonly OwnLease[], call: () => Promise<{ held: boolean }[]>): Promise<{ held: boolean }[]>;
  end(how: Ending, claim: OwnLease, call: () => Promise<void>): Promise<Outcome>;
  reap(call: () => Promise<{ requeued: Reaped[]; stuck: Reaped[] }>): Promise<void>;
}

/** @param patienceMs How long a call may take before it is held to be hung. */
export function startRecord({ write }: Journal, patienceMs: number): Recorder {
  let calls = 0;

  function answered(call: number, answer: Answer<unknown>): void {
    const error = "error" in answer ? { error: answer.error } : {};
    write({ type: "answered", call, at: now(), outcome: answer.outcome, ...error });
  }

  return {
    async claim(limit, call) {
      const number = ++calls;
      write({ type: "claiming", call: number, at: now(), limit });
      const answer = await settle(call(), patienceMs);
      if (answer.outcome !== "done") {
        answered(number, answer);
        return [];
      }
      const leases = answer.value.map((claim): [...Held, number] => [...held(claim), claim.pickupCount]);
      write({ type: "claimed", call: number, at: now(), leases });
      return answer.value;
    },
    async beat(leases, call) {
      const number = ++calls;
      write({ type: "beating", call: number, at: now(), leases: leases.map(held) });
      const answer = await settle(call(), patienceMs);
      if (answer.outcome !== "done") {
        answered(number, answer);
        return [];
      }
      write({ type: "beat", call: number, at: now(), held: answer.value.map((each) => each.held) });
      return answer.value;
    },
    async end(how, claim, call) {
      const number = ++calls;
      write({ type: "ending", call: number, at: now(), how, lease: held(claim) });
      const answer = await settle(call(), patienceMs);
      answered(number, answer);
      return answer.outcome;
    },
    async reap(call) {
      const number = ++calls;
      write({ type: "reaping", call: number, at: now() });
      const answer = await settle(call(), patienceMs);
      if (answer.outcome !== "done") return answered(number, answer);
      const { requeued, stuck } = answer.value;
      const row = (isStuck: boolean) => ({ attemptId, pickupCount }: Reaped): [string, number, boolean] => [attemptId, pickupCount, isStuck];
      write({ type: "reaped", call: number, at: now(), rows: [...requeued.map(row(false)), ...stuck.map(row(true))] });
    },
  };
}

function held({ attemptId, fencingToken }: OwnLease): Held {
  return [attemptId, fencingToken];
}
