/** What the demo's attempts are for, and what each brings along. */
export interface Work extends Record<string, unknown> {
  fetcher: { ms: number };
  builder: { ms: number };
  mailer: { ms: number };
  /** Kills whoever takes it. */
  importer: { poison: true };
}

export const ROLES = ["fetcher", "builder", "mailer"] as const;
export const POISON_ROLE = "importer";
export const ATTEMPTS = 2_000;
export const MAX_PICKUPS = 3;
/** Short, so that nobody waits long for the reaper; the library's default is a minute. */
export const STALE_AFTER_MS = 1_500;
