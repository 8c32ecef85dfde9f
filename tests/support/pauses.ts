const TRIALS = 8;

/**
 * The longest pause of the event loop, in milliseconds, while something happens; of several times the one with the shortest, ended
 * when that is `enough`. Work that blocks does so each time; that the machine does something else, it does not.
 */
export async function longestPause(enough: number, happens: () => Promise<unknown>): Promise<number> {
  let shortest = Infinity;
  for (let trial = 0; trial < TRIALS && shortest > enough; trial++) shortest = Math.min(shortest, await pauseDuring(happens));
  return shortest;
}

async function pauseDuring(happens: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const beat = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  };
  const probe = setInterval(beat, 10);
  await happens();
  clearInterval(probe);
  beat();
  return longest;
}
