// What is enqueued, and what each piece of it makes of its worker.
import type { NewWork } from "../../mod.ts";
import { seededRandom } from "./random.ts";

export const ROLES: readonly string[] = ["builder", "mailer", "indexer", "fetcher", "importer", "exporter", "resizer", "notifier", "reporter", "archiver"];
/** Only for workers that claim one at a time: it takes everything down that its worker holds. */
export const KILLER_ROLE = "killer";
export const MAX_PICKUPS = 3;

/**
 * - `plain`: completed.
 * - `follow`: completed with a follow-up attempt, which is `followed`.
 * - `flaky`: fails with a retry, once or twice, then it is completed.
 * - `broken`: fails with worker-internal-error at its first pickup.
 * - `returned`: released the first time.
 * - `doomed`: fails for good.
 * - `slow`: completed, but while a fault is due or happens it is held for a while first.
 * - `silent`: poison; whoever takes it never speaks of it again.
 * - `killer`: poison; whoever takes it is killed.
 */
export type Kind = "plain" | "follow" | "followed" | "flaky" | "broken" | "returned" | "doomed" | "slow" | "silent" | "killer";

export interface Payload extends Record<string, unknown> {
  n: number;
  kind: Kind;
  /** Of `flaky`: how many attempts fail. */
  fails?: number;
  /** Of `slow`: for how long it is held. */
  ms?: number;
}

const SHARES: readonly (readonly [Kind, number])[] = [
  ["follow", 0.04], ["flaky", 0.05], ["broken", 0.02], ["returned", 0.05], ["doomed", 0.02], ["silent", 0.0015],
];
const KILLER_EVERY = 5_000;
// At fixed places: whatever is enqueued for a fault, somebody holds some of it then.
const SLOW_EVERY = 16;

/** The n-th piece of work of a run: the same for everybody who knows the seed. */
export function workOf(seed: number, n: number): NewWork & { payload: Payload } {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(n + 1, 0x85ebca6b));
  if (n % KILLER_EVERY === KILLER_EVERY >> 3) return { role: KILLER_ROLE, payload: { n, kind: "killer" } };
  const kind = n % SLOW_EVERY === SLOW_EVERY >> 1 ? "slow" : kindAt(random.next());
  return {
    role: random.pick(ROLES),
    payload: { n, kind, ...kind === "flaky" && { fails: random.between(1, 2) }, ...kind === "slow" && { ms: random.between(300, 1_200) } },
    priority: random.chance(0.1) ? random.between(-2, 2) : 0,
    ...random.chance(0.05) && { key: `key/${n}` },
    ...random.chance(0.01) && { delayMs: random.between(0, 500) },
  };
}

export function isPoison(kind: Kind): boolean {
  return kind === "silent" || kind === "killer";
}

function kindAt(place: number): Kind {
  let rest = place;
  for (const [kind, share] of SHARES) {
    if (rest < share) return kind;
    rest -= share;
  }
  return "plain";
}
