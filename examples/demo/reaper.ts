import type { Queue, Reaped } from "../../mod.ts";
import type { Entry } from "./journal.ts";
import type { Work } from "./roles.ts";

const REAP_EVERY_MS = 250;

/** Reaps again and again, as any process may; here it is the parent. */
export interface Reaper {
  /** Rejects when the database fails. */
  readonly broken: Promise<never>;
  stop(): Promise<void>;
}

export function startReaper(queue: Queue<Work>, record: (entry: Entry) => void): Reaper {
  const stopped = new AbortController();
  const loop = run();
  return {
    broken: loop.then(() => new Promise<never>(() => {})),
    async stop() {
      stopped.abort();
      await loop.catch(() => {});
    },
  };

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const { requeued, stuck } = await queue.reap();
      for (const entry of [...byOwner(requeued, false), ...byOwner(stuck, true)]) record(entry);
      await new Promise((resolve) => setTimeout(resolve, REAP_EVERY_MS));
    }
  }
}

function byOwner(reaped: readonly Reaped[], stuck: boolean): Entry[] {
  const owners = new Set(reaped.map(({ previousInstanceId }) => previousInstanceId));
  return [...owners].map((owner) => ({
    type: "reaped",
    instanceId: owner ?? "nobody",
    stuck,
    attempts: reaped.filter(({ previousInstanceId }) => previousInstanceId === owner),
  }));
}
