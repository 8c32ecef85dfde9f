/**
 * Waiting for others.
 *
 * @module
 */

import { isBusy } from "./driver_errors.ts";

/** How long a locked SQLite file is waited for in all, in milliseconds. */
export const PATIENCE_MS = 5_000;

/**
 * Waits for a random part of `mostMs`, so that those who collided do not collide again.
 *
 * @param mostMs Milliseconds.
 */
export function jitteredWait(mostMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * mostMs));
}

/**
 * Tries again while somebody else holds a lock. The first try is made before anything is awaited.
 *
 * @param work Waits for a lock shortly itself, or not at all.
 * @param giveUp The error to throw when the patience is over.
 */
export async function untilNotBusy<T>(work: () => T, giveUp: (cause: unknown) => Error): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() > deadline) throw giveUp(error);
    }
    await jitteredWait(50);
  }
}
