import { setTimeout as sleep } from "node:timers/promises";

// What is waited for happens at once, except on a machine that does much else.
const PATIENCE_MS = 20_000;

/** Tries something that may be tried again until it does not throw, and gives what it gave; in the end, throws what it threw. */
export async function eventually<T>(happens: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS;;) {
    try {
      return await happens();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
}
