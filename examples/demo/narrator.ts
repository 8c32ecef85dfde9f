import type { Chronicle } from "./chronicle.ts";
import type { Entry } from "./journal.ts";
import { list, nameAttempts, workerNames } from "./names.ts";
import type { Progress } from "./progress.ts";
import { MAX_PICKUPS } from "./roles.ts";

/** Tells what happens beside the plain work, as it happens. */
export function narrate(chronicle: Chronicle, { say }: Progress): void {
  const name = (instanceId: string) => workerNames(chronicle.entries)(instanceId);
  // What was taken back from a worker and nobody has finished yet, and who finished the rest.
  const takenBack: { open: Set<string>; ids: string[]; by: string[] }[] = [];

  chronicle.onEntry((entry) => {
    const { type } = entry;
    if (type === "killed") say(["red", `${entry.worker} gets SIGKILL`], ` in mid-work, with ${attemptsOf(entry)} in its hands`);
    if (type === "stopped") say(["yellow", `${entry.worker} gets SIGSTOP`], ` in mid-work, with ${attemptsOf(entry)} in its hands`);
    if (type === "continued") say(["yellow", `${entry.worker} gets SIGCONT`], ", and knows nothing of what it slept through");
    if (type === "refused") say(`${entry.worker} tries to complete ${attemptsOf(entry)}: `, ["green", `refused (${entry.error})`]);
    if (type === "lost") say(`${entry.worker} learns from its heartbeat that ${attemptsOf(entry)} went to others as well`);
    if (type === "died") died(entry);
    if (type === "reaped") reaped(entry);
    if (type === "completed") completed(entry.attempt.attemptId, entry.worker);
  });

  function died({ worker, signal, instanceId, successor }: Extract<Entry, { type: "died" }>): void {
    const expected = chronicle.entries.some((entry) => entry.type === "killed" && entry.instanceId === instanceId);
    if (expected) say(`${successor} takes the place of ${worker}`);
    else say(["red", `${worker} dies of ${signal}`], `: what it took is poison; ${successor} takes its place`);
  }

  function reaped({ instanceId, stuck, attempts }: Extract<Entry, { type: "reaped" }>): void {
    const ids = attempts.map(({ attemptId }) => attemptId);
    const counts = attempts.map(({ pickupCount }) => pickupCount);
    const count = `pickup ${Math.max(...counts)} of ${MAX_PICKUPS}`;
    say("reaper: ", ["cyan", `${nameAttempts(ids)} taken back from ${name(instanceId)}`], `, ${count}`, ["red", stuck ? ": STUCK" : ""]);
    if (!stuck) takenBack.push({ open: new Set(ids), ids, by: [] });
  }

  function completed(attemptId: string, worker: string): void {
    for (const group of takenBack) {
      if (!group.open.delete(attemptId)) continue;
      group.by.push(worker);
      if (group.open.size === 0) say(`${nameAttempts(group.ids)} finished by ${list(group.by)} instead`);
    }
  }
}

function attemptsOf(entry: Extract<Entry, { attempts: unknown } | { attempt: unknown }>): string {
  return nameAttempts("attempt" in entry ? [entry.attempt.attemptId] : entry.attempts.map(({ attemptId }) => attemptId));
}
