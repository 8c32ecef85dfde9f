import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Arena, ArenaSettings, Fault } from "./arena.ts";
import { now } from "./clock.ts";
import { startCrew } from "./crew.ts";
import type { Occurrence } from "./figures.ts";
import { journalsIn } from "./journal.ts";
import type { Random } from "./random.ts";

/** How much is done to an arena. */
export interface Plan {
  attempts: number;
  /** How often each fault happens. */
  times: number;
  /** Only those whose names contain one of these words; all, if there are none. */
  faults: readonly string[];
}

export interface Course {
  occurrences: Occurrence[];
  driverCrashes: number;
}

const OPEN_ROWS = `select attempt_id, role, status, outcome, pickup_count, fencing_token, locked_by_instance, lock_heartbeat_at, created_at
  from workflow_attempts where status in ('pending', 'scheduled', 'in_progress') or outcome = 'worker-internal-error' limit 5`;
const POLL_MS = 250;
const STALLED_MS = 60_000;
const OPEN = `select (select count(*) from workflow_attempts where status = 'pending')
  + (select count(*) from workflow_attempts where status = 'scheduled') + (select count(*) from workflow_attempts where status = 'in_progress')
  + (select count(*) from workflow_attempts as a join workflows as w on w.workflow_id = a.workflow_id
     where a.status = 'failed' and a.outcome = 'worker-internal-error' and w.status = 'ACTIVE') as remaining,
  (select max(attempt_id) from workflow_attempts) as made`;

/** Lets the crew work and the faults happen, until all work that was to be enqueued is done. Nobody is left at its end. */
export async function runArena(arena: Arena, settings: ArenaSettings, plan: Plan, random: Random, say: (text: string) => void): Promise<Course> {
  const faults = schedule(arena.faults.filter(({ name }) => plan.faults.length === 0 || plan.faults.some((word) => name.includes(word))), plan.times, random);
  const occurrences: Occurrence[] = [];
  allow(0);
  await arena.migrate();
  const crew = startCrew(arena.slots);
  try {
    for (const [place, fault] of faults.entries()) {
      // Work for this fault, and for the time in which everybody recovers.
      allow(place + 2);
      await worked(place + 0.5);
      const from = now();
      await fault.run(crew, random);
      occurrences.push({ name: fault.name, from, to: now() });
      crew.resume();
      await worked(place + 1);
      say(`${fault.name}; ${((now() - from) / 1_000).toFixed(1)} s until the work went on`);
    }
    allow(faults.length + 1);
    await worked(Infinity);
  } finally {
    crew.pause();
    await crew.killAll();
  }
  return { occurrences, driverCrashes: crew.driverCrashes() };

  function allow(parts: number): void {
    writeFileSync(settings.allowance, String(Math.ceil(plan.attempts * Math.min(1, parts / (faults.length + 1)))));
  }

  // Until so many parts are done, or nothing is left to do.
  async function worked(parts: number): Promise<void> {
    let last = { text: "", at: now() };
    for (let idle = 0; idle < 20;) {
      await sleep(POLL_MS);
      const [row] = await arena.query(OPEN).catch((error): Record<string, unknown>[] => [{ error: String(error) }]);
      const text = JSON.stringify(row);
      if (crew.complaints.length > 0) throw new Error(crew.complaints.join("\n"));
      if (text !== last.text && !("error" in row!)) last = { text, at: now() };
      if (now() - last.at > STALLED_MS && !/"remaining":"?0"?,/.test(last.text)) throw await stalled(arena, settings, text);
      const [remaining, made] = [Number(row?.["remaining"]), Number(row?.["made"])];
      if (made - remaining >= plan.attempts * parts / (faults.length + 1)) return;
      idle = remaining === 0 ? idle + 1 : 0;
    }
  }
}

// With what a person would look at first.
async function stalled(arena: Arena, { journals }: ArenaSettings, state: string): Promise<Error> {
  const rows = await arena.query(OPEN_ROWS).catch((error) => [{ error: String(error) }]);
  const tails = journalsIn(journals).map((file) => `${file}\n${readFileSync(file, "utf8").split("\n").slice(-4).join("\n")}`);
  return new Error([`Nothing happened for ${STALLED_MS / 1_000} s: ${state}`, ...rows.map((row) => JSON.stringify(row)), ...tails].join("\n"));
}

// Each so many times, no two of a kind in a row if it can be helped.
function schedule(faults: readonly Fault[], times: number, random: Random): Fault[] {
  return Array.from({ length: times }, () => random.shuffle(faults)).flat();
}
