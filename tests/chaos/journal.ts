// What each process did, in a file of its own outside of the database: a line before each call and one after it.
import { createReadStream, openSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { HUNG, staysReadOnly, USELESS_EXIT_CODE } from "./calls.ts";
import type { Driver } from "./place.ts";

/** An attempt and the fencing token of a lease on it. */
export type Held = [attemptId: string, fencingToken: string];

/**
 * How a call came out: done; refused by the queue (the lease is lost, the workflow closed); failed with an error that says
 * that nothing was changed; or nobody knows.
 */
export type Outcome = "done" | "refused" | "nothing" | "unknown";

export type Ending = "complete" | "fail" | "retry" | "break" | "release";

/** Times are of the clock that all processes share. `call` numbers the calls of a process. */
export type Entry =
  | { type: "started"; at: number; instance: string; pid: number; via: string; driver: Driver }
  | { type: "claiming"; call: number; at: number; limit: number }
  | { type: "claimed"; call: number; at: number; leases: [...Held, pickupCount: number][] }
  | { type: "ending"; call: number; at: number; how: Ending; lease: Held }
  | { type: "beating"; call: number; at: number; leases: Held[] }
  | { type: "beat"; call: number; at: number; held: boolean[] }
  | { type: "reaping"; call: number; at: number }
  | { type: "reaped"; call: number; at: number; rows: [attemptId: string, pickupCount: number, stuck: boolean][] }
  | { type: "enqueuing"; call: number; at: number; ns: number[]; workflowId?: string }
  | { type: "enqueued"; call: number; at: number; ids: string[]; workflowIds: string[] }
  /** The answer to a call that is none of the above. */
  | { type: "answered"; call: number; at: number; outcome: Outcome; error?: string };

export interface Journal {
  /** On disk, as far as the system is concerned, before this returns: a SIGKILL right after takes nothing away. A hung call ends the process, and so does a server that stays read-only. */
  write(entry: Entry): void;
}

/** Opens the journal of a place in the crew; whoever had it before was killed, perhaps in the middle of a line. */
export function openJournal(file: string): Journal {
  const handle = openSync(file, "a");
  writeSync(handle, "\n");
  return {
    write(entry) {
      writeSync(handle, `${JSON.stringify(entry)}\n`);
      if (entry.type === "answered" && (entry.error === HUNG || staysReadOnly())) process.exit(USELESS_EXIT_CODE);
    },
  };
}

/** The journals of a folder. */
export function journalsIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith(".jsonl")).sort().map((name) => join(folder, name));
}

/** The entries of one journal in their order. A line that was cut off by a kill is passed over. */
export async function* readJournal(file: string): AsyncGenerator<Entry> {
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (line === "") continue;
    let entry: Entry;
    try {
      entry = JSON.parse(line);
    } catch {
      continue;
    }
    yield entry;
  }
}
