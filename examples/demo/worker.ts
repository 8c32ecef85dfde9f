// One worker process: claim, work, heartbeat, complete, until told to stop. What it did goes into its own journal, a file
// outside of the database, and as a message to the parent.
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Claim, Role } from "../../mod.ts";
import type { Order, Slot } from "./crew.ts";
import { openDatabase, type Place } from "./database.ts";
import { startHeart } from "./heart.ts";
import { type Entry, type Held, writeTo } from "./journal.ts";
import { POISON_ROLE, type Work } from "./roles.ts";

/** What a worker is told on its command line, as JSON. */
export interface WorkerArguments {
  worker: string;
  slot: Slot;
  place: Place;
  journal: string;
}

const { worker, slot, place, journal } = JSON.parse(process.argv[2] ?? "") as WorkerArguments;
const write = writeTo(journal);
let stopping = false;
let holdNext = false;
process.on("message", (order: Order) => order === "stop" ? stopping = true : holdNext = true);
// However the parent ends, and even if it cannot say so, nobody is left behind.
process.on("disconnect", () => process.exit());
if (!process.connected) process.exit();
// Ctrl-C reaches every process of a terminal. The parent decides.
process.on("SIGINT", () => {});

const database = await openDatabase(place);
const { queue } = database;
const { instanceId } = queue;
const heart = startHeart(queue, (leases) => tell({ type: "lost", worker, instanceId, attempts: leases.map(held) }));
tell({ type: "started", worker, instanceId, pid: process.pid });
while (!stopping) {
  const claims = await claim();
  if (claims.length === 0) await sleep(40);
  heart.watch(claims);
  if (holdNext && claims.length > 0) await hold(claims);
  for (const one of claims) await work(one);
}
await database.close();
process.disconnect();

async function claim(): Promise<Claim<Work>[]> {
  const roles: Role<Work>[] = [...slot.roles];
  if (slot.batch > 1) return queue.dequeueMany({ roles, limit: slot.batch });
  const claim = await queue.dequeue({ roles });
  return claim.acquired ? [claim] : [];
}

async function work(claim: Claim<Work>): Promise<void> {
  if (!heart.has(claim)) return;
  if (claim.role === POISON_ROLE) process.kill(process.pid, "SIGKILL");
  const { ms } = claim.payload as Work["fetcher"];
  await sleep(ms);
  await complete(claim);
}

async function complete(claim: Claim<Work>): Promise<void> {
  const about = { worker, instanceId, attempt: held(claim) };
  heart.forget(claim);
  try {
    await queue.complete(claim, { outcome: "done", result: { by: worker } });
    tell({ type: "completed", ...about, role: claim.role });
  } catch (error) {
    if ((error as { code?: unknown }).code !== "lease_lost") throw error;
    tell({ type: "refused", ...about, error: (error as Error).name });
  }
}

// In mid-work, until somebody sends SIGCONT. The heart rests meanwhile: SIGSTOP in the middle of a transaction would, on
// SQLite, stop everybody who wants to write.
async function hold(claims: readonly Claim<Work>[]): Promise<void> {
  holdNext = false;
  const continued = new Promise((resolve) => process.once("SIGCONT", resolve));
  await heart.pause();
  tell({ type: "holding", worker, instanceId, attempts: claims.map(held) });
  await continued;
  // It does not know that it slept: first it finishes what it had begun, then its heart beats again.
  await complete(claims[0] as Claim<Work>);
  await heart.resume();
}

function held({ attemptId, fencingToken }: { attemptId: unknown; fencingToken: unknown }): Held {
  return { attemptId: String(attemptId), fencingToken: String(fencingToken) };
}

function tell(entry: Entry): void {
  write(entry);
  process.send?.(entry);
}
