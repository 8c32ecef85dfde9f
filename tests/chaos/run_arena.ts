import { setTimeout as sleep } from "node:timers/promises";
import type { Arena, ArenaSettings, Fault } from "./arena.ts";
import { now, type Step, watchClock } from "./clock.ts";
import { startCrew } from "./crew.ts";
import type { Occurrence } from "./figures.ts";
import { type Flow, startFlow } from "./flow.ts";
import type { Random } from "./random.ts";

/** How much is done to an arena. */
export interface Plan {
  /** How many pieces of work there are in the end: what is enqueued, without the retries and follow-ups made of it. */
  attempts: number;
  /** How often each fault happens. */
  times: number;
  /** Only those whose names contain one of these words; all, if there are none. */
  faults: readonly string[];
}

export interface Course {
  occurrences: Occurrence[];
  /** The pieces of work that came into the table. */
  pieces: number;
  /** The names of the faults that were to happen. */
  planned: readonly string[];
  driverCrashes: number;
  clockSteps: readonly Step[];
}

/** The least work for each fault, without which nobody would be at work when it happens. */
const LEAST_PER_FAULT = 100;
/** For how long a fault is tried that gets hold of nobody: those who were killed before take their time to start. */
const TRIED_MS = 180_000;
const TOP_UPS = 50;

export function isChosen({ faults }: Pick<Plan, "faults">, name: string): boolean {
  return faults.length === 0 || faults.some((word) => name.includes(word));
}

/** Lets the crew work and the faults happen, until all work that was planned is done. Nobody is left at its end. */
export async function runArena(arena: Arena, settings: ArenaSettings, plan: Plan, random: Random, say: (text: string) => void): Promise<Course> {
  const chosen = arena.faults.filter(({ name }) => isChosen(plan, name));
  const faults = schedule(chosen, plan.times, random);
  const part = plan.attempts / (faults.length + 1);
  if (part < LEAST_PER_FAULT) throw new Error(`${plan.attempts} attempts are too few for ${faults.length} faults: it takes ${LEAST_PER_FAULT * (faults.length + 1)}`);
  const occurrences: Occurrence[] = [];
  await arena.migrate();
  const clock = watchClock();
  const crew = startCrew(arena.slots);
  const flow = startFlow(arena, settings, crew.complaints);
  let pieces: number;
  try {
    for (const [place, fault] of faults.entries()) {
      const from = now();
      occurrences.push(await happen(fault, place * part));
      // The other half is enqueued and done by those who recovered.
      flow.slow(false);
      crew.resume();
      flow.release((place + 1) * part);
      await flow.drained(part / 4);
      say(`${fault.name}; ${((now() - from) / 1_000).toFixed(1)} s until the work after it was done`);
    }
    flow.release(plan.attempts);
    await flow.drained(0);
    pieces = await topUp(flow, plan.attempts);
  } finally {
    crew.pause();
    await crew.killAll();
    clock.stop();
  }
  return { occurrences, pieces, planned: chosen.map(({ name }) => name), driverCrashes: crew.driverCrashes(), clockSteps: clock.steps };

  // While there is work, and until it got hold of somebody.
  async function happen(fault: Fault, done: number): Promise<Occurrence> {
    flow.slow(true);
    for (const begun = now(); now() - begun < TRIED_MS; await sleep(250)) {
      // If all was done before that was seen it takes more, of what was meant for later.
      for (let upTo = done + part / 2; !await flow.busy(upTo); upTo += LEAST_PER_FAULT / 2) {
        if (upTo > plan.attempts) throw new Error(`${fault.name}: no work was left for it`);
      }
      const from = now();
      const hands = await fault.run(crew, random);
      if (hands > 0) return { name: fault.name, from, to: now(), hands };
      crew.resume();
    }
    throw new Error(`${fault.name}: for ${TRIED_MS / 1_000} s it got hold of nobody`);
  }
}

// What was enqueued by calls that were lost is missing: so much more is enqueued, now that nothing goes wrong any more.
async function topUp(flow: Flow, planned: number): Promise<number> {
  let upTo = planned;
  for (let tries = TOP_UPS;; tries--) {
    const pieces = await flow.pieces();
    if (pieces >= planned || tries === 0) return pieces;
    flow.release(upTo += planned - pieces);
    await flow.drained(0);
  }
}

// Each so many times, no two of a kind in a row if it can be helped.
function schedule(faults: readonly Fault[], times: number, random: Random): Fault[] {
  return Array.from({ length: times }, () => random.shuffle(faults)).flat();
}
