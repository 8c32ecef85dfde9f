// A producer process: enqueues its share of the work, as far as it is allowed to by then. It writes down each call before and
// after, and never repeats one whose outcome is unknown.
import { readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { settle } from "./calls.ts";
import { now } from "./clock.ts";
import { openJournal, readJournal } from "./journal.ts";
import { openPlace, type Place, type Workplace } from "./place.ts";
import { seededRandom } from "./random.ts";
import { workOf } from "./work.ts";

/** What a producer is told on its command line, as JSON. */
export interface ProducerArguments {
  via: string;
  place: Place;
  journal: string;
  staleAfterMs: number;
  seed: number;
  /** This is one of so many producers, each with every so-manieth batch. */
  share: number;
  of: number;
  /** The file that says up to which number work may be enqueued. */
  allowance: string;
}

const BATCH = 100;
const SIBLINGS = 5;
const args: ProducerArguments = JSON.parse(process.argv[2] ?? "");
const resumeAt = await nextAfterJournal();
const journal = openJournal(args.journal);
const { queue } = await open();
const random = seededRandom(args.seed + args.share);
let calls = 0;
journal.write({ type: "started", at: now(), instance: queue.instanceId, pid: process.pid, via: args.via });
for (let batch = resumeAt;; batch += args.of) {
  const first = batch * BATCH;
  while (allowance() < first + BATCH) await sleep(20);
  const ns = Array.from({ length: BATCH }, (_, place) => first + place);
  // The last few of a batch join a workflow of the others.
  const workflowId = await enqueue(ns.slice(0, -SIBLINGS));
  await enqueue(ns.slice(-SIBLINGS), workflowId);
}

async function enqueue(ns: number[], workflowId?: string): Promise<string | undefined> {
  const work = ns.map((n) => ({ ...workOf(args.seed, n), ...workflowId !== undefined && { workflowId } }));
  for (;;) {
    const call = ++calls;
    journal.write({ type: "enqueuing", call, at: now(), ns, ...workflowId !== undefined && { workflowId } });
    const answer = await settle(queue.enqueue(work));
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

// Whoever had this share before may have been killed in the middle of a batch: what is left of that one is left out.
async function nextAfterJournal(): Promise<number> {
  let last = args.share - args.of;
  try {
    for await (const entry of readJournal(args.journal)) {
      if (entry.type === "enqueuing") last = Math.floor((entry.ns[0] ?? 0) / BATCH);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return last + args.of;
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
