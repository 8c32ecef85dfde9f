// A worker process: claims, keeps its leases alive, ends them in every way there is, and reaps. It writes down each call before
// and after. Whatever the database does, it goes on; only a signal ends it.
import { existsSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Claim } from "../../mod.ts";
import { patienceWith } from "./calls.ts";
import { now } from "./clock.ts";
import { startHeart } from "./heart.ts";
import { openJournal } from "./journal.ts";
import { driverOf, openPlace, type Place, type Workplace } from "./place.ts";
import { startRecord } from "./record.ts";
import { skewClock } from "./skew.ts";
import type { Payload } from "./work.ts";

/** What a worker is told on its command line, as JSON. */
export interface WorkerArguments {
  via: string;
  place: Place;
  journal: string;
  roles: readonly string[];
  /** How many it claims at once, and how many of them it ends at once. */
  batch: number;
  parallel: number;
  staleAfterMs: number;
  reapEveryMs: number;
  /** How far the clock of its machine is off. */
  skewMs: number;
  /** While this file is there the database file may not grow. */
  fullSign: string;
  /** While this file is there slow work takes its time. */
  slowSign: string;
}

const PAUSE_MS = 40;
let limited = false;
const args: WorkerArguments = JSON.parse(process.argv[2] ?? "");
if (args.skewMs !== 0) skewClock(args.skewMs);
const journal = openJournal(args.journal);
const { queue, limitPages } = await open();
const record = startRecord(journal, patienceWith(driverOf(args.place)));
const heart = startHeart(queue, record, args.staleAfterMs / 5);
journal.write({ type: "started", at: now(), instance: queue.instanceId, pid: process.pid, via: args.via, driver: driverOf(args.place) });
void forever(reap);
if (args.place.dialect === "sqlite") void forever(watchFullSign);
await forever(round);

async function open(): Promise<Workplace> {
  for (;;) {
    try {
      return await openPlace(args.place, args.staleAfterMs);
    } catch {
      await sleep(200);
    }
  }
}

async function forever(work: () => Promise<void>): Promise<never> {
  for (;;) await work();
}

async function round(): Promise<void> {
  const { roles, batch } = args;
  const claims = batch > 1
    ? await record.claim(batch, () => queue.dequeueMany({ roles, limit: batch }))
    : await record.claim(1, async () => [await queue.dequeue({ roles })].filter((claim): claim is Claim<Record<string, Payload>> => claim.acquired));
  if (claims.length === 0) return void await sleep(PAUSE_MS);
  heart.watch(claims);
  const waiting = [...claims];
  await Promise.all(Array.from({ length: args.parallel }, async () => {
    for (let claim = waiting.shift(); claim !== undefined; claim = waiting.shift()) await work(claim as Claim & { payload: Payload });
  }));
}

async function work(claim: Claim & { payload: Payload }): Promise<void> {
  if (!heart.has(claim)) return;
  const { kind, n, fails = 0, ms = 0 } = claim.payload;
  if (kind === "killer") process.kill(process.pid, "SIGKILL");
  if (kind === "silent") return heart.forget(claim);
  // Held by heartbeats, so that a fault finds leases that live.
  if (kind === "slow" && existsSync(args.slowSign)) await sleep(ms);
  // What was done is kept with the attempt, to be held against the journals.
  const result = { n, instance: queue.instanceId, token: claim.fencingToken };
  const next = kind === "follow" ? [{ role: claim.role, payload: { n, kind: "followed" } as Payload }] : undefined;
  if (kind === "flaky" && claim.attemptNumber <= fails) return end("retry", () => queue.fail(claim, { outcome: "flaky", result, error: new Error("flaky"), retry: {} }));
  if (kind === "doomed") return end("fail", () => queue.fail(claim, { outcome: "doomed", result }));
  if (kind === "broken" && claim.pickupCount === 0) return end("break", () => queue.fail(claim, { outcome: "worker-internal-error", result }));
  if (kind === "returned" && claim.fencingToken === "1") return end("release", () => queue.release(claim));
  return end("complete", () => queue.complete(claim, { outcome: "done", result, ...next && { next } }));

  // Until something is known, or the lease is lost anyway.
  async function end(how: Parameters<typeof record.end>[0], call: () => Promise<void>): Promise<void> {
    for (;;) {
      const outcome = await record.end(how, claim, call);
      if (outcome === "done" || outcome === "refused" || !heart.has(claim)) break;
      await sleep(PAUSE_MS * 5);
    }
    heart.forget(claim);
  }
}

async function reap(): Promise<void> {
  await sleep(args.reapEveryMs);
  await record.reap(() => queue.reap());
}

async function watchFullSign(): Promise<void> {
  if (existsSync(args.fullSign) !== limited) limitPages(limited = !limited);
  await sleep(50);
}
