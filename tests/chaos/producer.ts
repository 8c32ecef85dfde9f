// A producer process: enqueues its share of the work, as far as it is allowed to by then, and says how far that was. It writes
// down each call before and after, and never repeats one whose outcome is unknown.
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { patienceWith, settle } from "./calls.ts";
import { now } from "./clock.ts";
import { openJournal, readJournal } from "./journal.ts";
import { driverOf, openPlace, type Place, type Workplace } from "./place.ts";
import { seededRandom } from "./random.ts";
import { nextOfShare, SHARE, usedFile } from "./share.ts";
import { workOf } from "./work.ts";

/** What a producer is told on its command line, as JSON. */
export interface ProducerArguments {
  via: string;
  place: Place;
  journal: string;
  staleAfterMs: number;
  seed: number;
  /** This is one of so many producers, each with every so-manieth piece of the work. */
  share: number;
  of: number;
  /** The file that says up to which number work may be enqueued. */
  allowance: string;
}

const SIBLINGS = 5;
const args: ProducerArguments = JSON.parse(process.argv[2] ?? "");
let next = await nextAfterJournal();
const journal = openJournal(args.journal);
const { queue } = await open();
const random = seededRandom(args.seed + args.share);
const driver = driverOf(args.place);
let calls = 0;
journal.write({ type: "started", at: now(), instance: queue.instanceId, pid: process.pid, via: args.via, driver });
for (;;) {
  const allowed = allowance();
  while (next < allowed) {
    const until = Math.min(allowed, (Math.floor(next / SHARE) + 1) * SHARE);
    await enqueueAll(Array.from({ length: until - next }, (_, place) => next + place));
    next = nextOfShare(until, args.share, args.of);
  }
  writeFileSync(usedFile(args.allowance, args.share), String(allowed));
  while (allowance() === allowed) await sleep(20);
}

// The last few of a list that is long enough join a workflow of the others.
async function enqueueAll(ns: number[]): Promise<void> {
  if (ns.length <= 2 * SIBLINGS) return void await enqueue(ns);
  const workflowId = await enqueue(ns.slice(0, -SIBLINGS));
  await enqueue(ns.slice(-SIBLINGS), workflowId);
}

async function enqueue(ns: number[], workflowId?: string): Promise<string | undefined> {
  const work = ns.map((n) => ({ ...workOf(args.seed, n), ...workflowId !== undefined && { workflowId } }));
  for (;;) {
    const call = ++calls;
    journal.write({ type: "enqueuing", call, at: now(), ns, ...workflowId !== undefined && { workflowId } });
    const answer = await settle(queue.enqueue(work), patienceWith(driver));
    if (answer.outcome === "done") {
      const [ids, workflowIds] = [answer.value.map(({ attemptId }) => attemptId), answer.value.map((each) => each.workflowId)];
      journal.write({ type: "enqueued", call, at: now(), ids, workflowIds });
      return random.pick(workflowIds);
    }
    journal.write({ type: "answered", call, at: now(), outcome: answer.outcome, error: answer.error });
    if (answer.outcome !== "nothing") return undefined;
    await sleep(100);
  }
}

function allowance(): number {
  return Number(readFileSync(args.allowance, "utf8"));
}

// Whoever had this share before may have been killed before an answer came: what it had sent is not sent again.
async function nextAfterJournal(): Promise<number> {
  let next = args.share * SHARE;
  try {
    for await (const entry of readJournal(args.journal)) {
      if (entry.type === "enqueuing") next = nextOfShare(entry.ns.at(-1)! + 1, args.share, args.of);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return next;
}

async function open(): Promise<Workplace> {
  for (;;) {
    try {
      return await openPlace(args.place, args.staleAfterMs);
    } catch {
      await sleep(200);
    }
  }
}
