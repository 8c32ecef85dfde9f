import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Chronicle } from "./chronicle.ts";
import type { Place } from "./database.ts";
import type { Entry } from "./journal.ts";
import { POISON_ROLE, ROLES } from "./roles.ts";
import type { WorkerArguments } from "./worker.ts";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** Be in mid-work with your next claim until SIGCONT; or finish and end. */
export type Order = "hold" | "stop";

/** A place in the crew, which is filled again when the worker in it dies. */
export interface Slot {
  roles: readonly (typeof ROLES[number] | typeof POISON_ROLE)[];
  /** How many attempts it claims at once. */
  batch: number;
}

export type SlotName = "first" | "second" | "crashing" | "sleeping";

/** Who claims one at a time may meet the poison; who claims five at a time would take four others down with it. */
export const SLOTS: Readonly<Record<SlotName, Slot>> = {
  first: { roles: [...ROLES, POISON_ROLE], batch: 1 },
  second: { roles: [...ROLES, POISON_ROLE], batch: 1 },
  crashing: { roles: ROLES, batch: 5 },
  sleeping: { roles: ROLES, batch: 5 },
};

export interface Member {
  readonly worker: string;
  order(order: Order): void;
  signal(signal: NodeJS.Signals): void;
}

export interface Crew {
  /** Who is in this slot now. */
  member(slot: SlotName): Member;
  /** Never resolves; rejects when a worker ends by a fault of the demo's. */
  readonly broken: Promise<never>;
  /** Lets everybody finish what is begun. */
  dismiss(): Promise<void>;
  /** Ends everybody at once, also who sleeps. */
  kill(): Promise<void>;
}

/** Starts a worker process for every slot, and another whenever one is killed. */
export function startCrew(place: Place, folder: string, chronicle: Chronicle): Crew {
  const children = new Map<SlotName, { worker: string; child: ChildProcess; exited: Promise<void> }>();
  let breakDown: (error: Error) => void = () => {};
  const broken = new Promise<never>((_, reject) => breakDown = reject);
  broken.catch(() => {});
  let count = 0;
  let closing = false;
  process.once("exit", killNow);
  for (const slot of Object.keys(SLOTS) as SlotName[]) fill(slot);

  function fill(slot: SlotName): string {
    const worker = `worker ${++count}`;
    const child = forkWorker({ worker, slot: SLOTS[slot], place, journal: join(folder, `worker-${count}.jsonl`) });
    let instanceId = "";
    let complaint = "";
    child.stderr?.on("data", (text) => complaint += text);
    child.on("message", (entry: Entry) => {
      if (entry.type === "started") ({ instanceId } = entry);
      chronicle.record(entry);
    });
    child.on("error", breakDown);
    const exited = new Promise<void>((resolve) => child.once("close", (code, signal) => resolve(ended(code, signal))));
    children.set(slot, { worker, child, exited });
    return worker;

    function ended(code: number | null, signal: string | null): void {
      children.delete(slot);
      if (code) return breakDown(new Error(`${worker} ended with code ${code}\n${complaint}`));
      if (closing) return;
      const successor = fill(slot);
      chronicle.record({ type: "died", worker, instanceId, signal: signal ?? "", successor });
    }
  }

  function member(slot: SlotName): Member {
    const { worker, child } = children.get(slot)!;
    return { worker, order: (order) => void child.send(order), signal: (signal) => void child.kill(signal) };
  }

  function killNow(): void {
    closing = true;
    for (const { child } of children.values()) child.kill("SIGKILL");
  }

  async function allEnded(): Promise<void> {
    await Promise.all([...children.values()].map(({ exited }) => exited));
  }

  return {
    member,
    broken,
    async dismiss() {
      closing = true;
      for (const { child } of children.values()) child.send("stop");
      await allEnded();
    },
    async kill() {
      killNow();
      await allEnded();
      process.off("exit", killNow);
    },
  };
}

function forkWorker(options: WorkerArguments): ChildProcess {
  // By its full address: the current folder may be anywhere.
  const execArgv = ["--import", import.meta.resolve("tsx")];
  return fork(WORKER, [JSON.stringify(options)], { execArgv, stdio: ["ignore", "ignore", "pipe", "ipc"] });
}
