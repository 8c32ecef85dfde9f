// How the numbers of the work are shared among producers: so many in a row each, in turn.

/** How many numbers in a row are one producer's. */
export const SHARE = 100;

/** The first number of a producer's share that is not below `least`. */
export function nextOfShare(least: number, share: number, of: number): number {
  const turn = Math.floor(least / SHARE);
  const wait = ((share - turn) % of + of) % of;
  return wait === 0 ? least : (turn + wait) * SHARE;
}

/** Where a producer says up to which number it has enqueued its share. */
export function usedFile(allowance: string, share: number): string {
  return `${allowance}.used-${share}`;
}
