import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What a lease was made of, without its owner. */
export interface Held {
  attemptId: string;
  fencingToken: string;
}

/** One line of a journal. `instanceId` is whom it is about, as the database knows it; `worker` the name a person reads. */
export type Entry =
  | { type: "started"; worker: string; instanceId: string; pid: number }
  /** In mid-work on the first of these, and no step further before somebody intervenes. */
  | { type: "holding"; worker: string; instanceId: string; attempts: Held[] }
  | { type: "completed"; worker: string; instanceId: string; attempt: Held; role: string }
  /** `complete` threw. */
  | { type: "refused"; worker: string; instanceId: string; attempt: Held; error: string }
  /** A heartbeat learned that these are gone. */
  | { type: "lost"; worker: string; instanceId: string; attempts: Held[] }
  | Intervention<"killed">
  | Intervention<"stopped">
  | Intervention<"continued">
  | { type: "died"; worker: string; instanceId: string; signal: string; successor: string }
  | { type: "reaped"; instanceId: string; stuck: boolean; attempts: { attemptId: string; pickupCount: number }[] };

/** The parent sent a signal to a worker that held these. */
interface Intervention<T extends string> {
  type: T;
  worker: string;
  instanceId: string;
  attempts: Held[];
}

/** A file of JSON lines. Each is written before the call returns, so that it survives a SIGKILL right after. */
export function writeTo(file: string): (entry: Entry) => void {
  return (entry) => appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

/** All lines of all journals in a folder. */
export function readJournals(folder: string): Entry[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean))
    .map((line) => JSON.parse(line) as Entry);
}
