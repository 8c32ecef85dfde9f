import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import type { Queue } from "../../mod.ts";
import type { Opened } from "../support/backends.ts";
import { runCommand } from "../support/processes.ts";
import type { Answer, Order } from "../workers/contend.ts";
import type { WorkerArguments } from "../workers/worker.ts";

const SCRIPT = new URL("../workers/contend.ts", import.meta.url);
const HEAD_START_MS = 2;

/** What one of them does: an operation with its arguments, as JSON can carry them. */
export type Move = [operation: keyof Queue, ...args: unknown[]];

/** Processes that each have a connection of their own to the same tables. */
export interface Contenders {
  /** Lets one process do each of these at the same moment; what each gave, or the code of its error, in the order given. */
  race(moves: readonly Move[], place?: Order["place"]): Promise<unknown[]>;
  stop(): Promise<void>;
}

export async function contenders(count: number, { address, schema }: Pick<Opened, "address" | "schema">): Promise<Contenders> {
  const args: WorkerArguments = { address: String(address), schema };
  const all = await Promise.all(Array.from({ length: count }, () => contender(args)));
  return {
    race: (moves, place) => {
      const at = Date.now() + HEAD_START_MS;
      // Now and then one is a little ahead of the others.
      const begin = () => at + (Math.random() < 0.3 ? 1 : 0);
      return Promise.all(moves.map(([operation, ...rest], each) => all[each]!.tell({ at: begin(), operation, args: rest, ...(place && { place }) })));
    },
    stop: async () => void await Promise.all(all.map((each) => each.stop())),
  };
}

interface Contender {
  tell(order: Omit<Order, "id">): Promise<unknown>;
  stop(): Promise<void>;
}

async function contender(args: WorkerArguments): Promise<Contender> {
  const [program, rest] = runCommand(SCRIPT, [JSON.stringify(args)]);
  const child: ChildProcess = spawn(program, rest, { stdio: ["pipe", "inherit", "inherit", "ipc"], env: { ...process.env, NODE_TEST_CONTEXT: undefined } });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  const exited = new Promise<void>((resolve) => child.once("exit", (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`A contender ended: ${signal ?? code}`));
    resolve();
  }));
  const answer = (id: number) => new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }));
  child.on("message", ({ id, value }: Answer) => {
    waiting.get(id)?.resolve(value);
    waiting.delete(id);
  });
  await answer(0);
  return {
    tell: (order) => {
      const done = answer(++last);
      child.send({ id: last, ...order } satisfies Order);
      return done;
    },
    stop: async () => {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
