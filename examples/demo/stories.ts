import type { Chronicle } from "./chronicle.ts";
import type { Crew, Member } from "./crew.ts";
import type { Entry, Held } from "./journal.ts";
import { ATTEMPTS, MAX_PICKUPS, POISON_ROLE } from "./roles.ts";

type Holding = Extract<Entry, { type: "holding" }>;

/** What has to happen before the demo is over. Every step waits until the one before is known to have happened. */
export interface Stage {
  chronicle: Chronicle;
  crew: Crew;
  poisonId: string;
}

/** SIGKILL in mid-work: what the worker held goes back to the queue, and others finish it. */
export async function crash({ chronicle, crew }: Stage): Promise<void> {
  await completions(chronicle, 200);
  const victim = crew.member("crashing");
  const { worker, instanceId, attempts } = await holding(chronicle, victim);
  victim.signal("SIGKILL");
  chronicle.record({ type: "killed", worker, instanceId, attempts });
  await takenOver(chronicle, worker, instanceId, attempts);
}

/** SIGSTOP in mid-work: the lease runs out, others finish the work, and the sleeper wakes when all is over. */
export async function zombie({ chronicle, crew }: Stage): Promise<void> {
  await completions(chronicle, 600);
  const sleeper = crew.member("sleeping");
  const { worker, instanceId, attempts } = await holding(chronicle, sleeper);
  sleeper.signal("SIGSTOP");
  chronicle.record({ type: "stopped", worker, instanceId, attempts });
  await takenOver(chronicle, worker, instanceId, attempts);
  sleeper.signal("SIGCONT");
  chronicle.record({ type: "continued", worker, instanceId, attempts });
  await chronicle.until(`${worker} to try to complete attempt ${attempts[0]?.attemptId} after its sleep`, () =>
    chronicle.entries.some((entry) =>
      (entry.type === "refused" || entry.type === "completed") && entry.instanceId === instanceId &&
      sameLease(entry.attempt, attempts[0])
    ));
}

/** An attempt that kills whoever takes it: after so many pickups nobody takes it any more. */
export async function poison({ chronicle, poisonId }: Stage): Promise<void> {
  await chronicle.until(`the poison attempt ${poisonId} (${POISON_ROLE}) to be STUCK after ${MAX_PICKUPS} pickups`, () =>
    chronicle.entries.some((entry) =>
      entry.type === "reaped" && entry.stuck && entry.attempts.some(({ attemptId }) => attemptId === poisonId)
    ));
}

/** The plain work. */
export function everything({ chronicle }: Stage): Promise<void> {
  return completions(chronicle, ATTEMPTS);
}

async function completions(chronicle: Chronicle, count: number): Promise<void> {
  const attempts = new Set<string>();
  let seen = 0;
  await chronicle.until(`${count.toLocaleString("en")} attempts to be completed`, () => {
    for (; seen < chronicle.entries.length; seen++) {
      const entry = chronicle.entries[seen];
      if (entry?.type === "completed") attempts.add(entry.attempt.attemptId);
    }
    return attempts.size >= count;
  });
}

async function holding(chronicle: Chronicle, member: Member): Promise<Holding> {
  member.order("hold");
  let found: Holding | undefined;
  await chronicle.until(`${member.worker} to be in mid-work`, () => {
    found = chronicle.entries.find((entry) => entry.type === "holding" && entry.worker === member.worker) as typeof found;
    return found !== undefined;
  });
  return found!;
}

async function takenOver(chronicle: Chronicle, worker: string, instanceId: string, attempts: Held[]): Promise<void> {
  for (const { attemptId } of attempts) {
    await chronicle.until(`attempt ${attemptId} to be taken back from ${worker}`, () =>
      chronicle.entries.some((entry) =>
        entry.type === "reaped" && entry.instanceId === instanceId &&
        entry.attempts.some((reaped) => reaped.attemptId === attemptId)
      ));
    await chronicle.until(`attempt ${attemptId} of ${worker} to be completed by another`, () =>
      chronicle.entries.some((entry) =>
        entry.type === "completed" && entry.instanceId !== instanceId && entry.attempt.attemptId === attemptId
      ));
  }
}

function sameLease(one: Held, other: Held | undefined): boolean {
  return one.attemptId === other?.attemptId && one.fencingToken === other.fencingToken;
}
