import { join } from "node:path";
import type { NewWork } from "../../mod.ts";
import { startChronicle } from "./chronicle.ts";
import { startCrew } from "./crew.ts";
import type { Database } from "./database.ts";
import type { Workplace } from "./folder.ts";
import { type Entry, writeTo } from "./journal.ts";
import { narrate } from "./narrator.ts";
import { startProgress } from "./progress.ts";
import { startReaper } from "./reaper.ts";
import { ATTEMPTS, POISON_ROLE, ROLES, type Work } from "./roles.ts";
import { crash, everything, poison, type Stage, zombie } from "./stories.ts";

const TIMEOUT_MS = 60_000;

/**
 * Fills the queue, lets the workers at it, and makes everything happen that the report is about.
 *
 * @param interrupted Rejects when the show is to end at once.
 * @returns What had not happened when the time was over.
 */
export async function show(workplace: Workplace, { queue }: Database, interrupted: Promise<never>): Promise<string[]> {
  await queue.migrate();
  const start = performance.now();
  const enqueued = await queue.enqueue(plainWork());
  const took = performance.now() - start;
  // Ahead of all others, so that it is met while there is work that it could harm.
  const { attemptId: poisonId } = await queue.enqueue({ role: POISON_ROLE, payload: { poison: true }, priority: -1 });

  const chronicle = startChronicle();
  const write = writeTo(join(workplace.journals, "parent.jsonl"));
  chronicle.onEntry((entry) => isOfParent(entry) && write(entry));
  const progress = startProgress(() => queue.stats());
  narrate(chronicle, progress);
  progress.say(`${enqueued.length.toLocaleString("en")} attempts enqueued by one call in ${Math.round(took)} ms, and a poisonous one`);
  const crew = startCrew(workplace.place, workplace.journals, chronicle);
  const reaper = startReaper(queue, chronicle.record);
  const stage: Stage = { chronicle, crew, poisonId };
  try {
    const stories = Promise.all([everything, crash, zombie, poison].map((story) => story(stage))).then(crew.dismiss);
    const time = new Promise<void>((resolve) => setTimeout(resolve, TIMEOUT_MS).unref());
    await Promise.race([stories, time, crew.broken, reaper.broken, interrupted]);
    return chronicle.awaited();
  } finally {
    await crew.kill();
    await reaper.stop();
    await progress.stop();
  }
}

function plainWork(): NewWork<Work>[] {
  return Array.from({ length: ATTEMPTS }, (_, place) => ({
    role: ROLES[place % ROLES.length]!,
    payload: { ms: 4 + (place * 7) % 17 },
  }));
}

function isOfParent({ type }: Entry): boolean {
  return ["killed", "stopped", "continued", "died", "reaped"].includes(type);
}
