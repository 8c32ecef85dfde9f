/**
 * Waits for a random part of `mostMs`, so that those who collided do not collide again.
 *
 * @param mostMs Milliseconds.
 */
export function jitteredWait(mostMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * mostMs));
}
