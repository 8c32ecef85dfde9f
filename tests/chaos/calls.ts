import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "./journal.ts";
import type { Driver } from "./place.ts";

/** What came of a call: its answer, or what is known of its effect. */
export type Answer<T> = { outcome: "done"; value: T } | { outcome: Exclude<Outcome, "done">; error: string };

/** Drivers of which it is known that a call may never settle when its connection is lost, or while one is made; and where that stands. */
export const KNOWN_TO_HANG: Partial<Record<Driver, string>> = {
  "postgres.js": "issues 1089, 1186 and 1193 of porsager/postgres",
};

// A call that takes so long will never settle. Where that is no news the wait is shorter: nothing is claimed by it. Of the
// others it would be a violation, so it is longer than any fault lasts on a machine with ten times as much to do as it can.
const PATIENCE_MS = { known: 20_000, others: 90_000 } as const;

/** No call that was sent and not answered takes effect later than this. */
export const UNHEARD_MS: number = PATIENCE_MS.others + 30_000;

/** What a process ends with whose driver is of no more use: after a call that never settled, or on a server that stays read-only. */
export const USELESS_EXIT_CODE = 75;
export const HUNG = "HUNG";

export function patienceWith(driver: Driver): number {
  return driver in KNOWN_TO_HANG ? PATIENCE_MS.known : PATIENCE_MS.others;
}

// The queue's own word that it did not do it.
const REFUSED = ["lease_lost", "workflow_closed", "not_found"];

// The statement did not begin, or was rolled back, for certain: no connection, a server that starts or stops or may not
// write, a locked or full or read-only file.
const NOTHING = /^(busy|schema_missing|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|57P03|53300|25006|40001|SQLITE_(BUSY|FULL|CANTOPEN|READONLY).*)$/;

/** Waits for a call and says what is known of it then. A call that never settles is one whose effect is unknown. */
export async function settle<T>(call: Promise<T>, patienceMs: number): Promise<Answer<T>> {
  const timeout = new AbortController();
  const hung = sleep(patienceMs, undefined, { signal: timeout.signal }).then(
    (): Answer<T> => ({ outcome: "unknown", error: HUNG }),
    () => new Promise<never>(() => {}),
  );
  const answer = call.then((value): Answer<T> => (readOnlyInARow = 0, { outcome: "done", value }), (error): Answer<T> => failed(error));
  return await Promise.race([answer, hung]).finally(() => timeout.abort());
}

const READ_ONLY = "25006";
const READ_ONLY_AT_MOST = 50;
let readOnlyInARow = 0;

/** Whether all that was asked of late was asked of a standby: postgres.js may keep a connection to one for ever, whatever it was told to look for. */
export function staysReadOnly(): boolean {
  return readOnlyInARow > READ_ONLY_AT_MOST;
}

function failed<T>(error: unknown): Answer<T> {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = typeof code === "string" && code !== "" ? code : String(message);
  readOnlyInARow = text === READ_ONLY ? readOnlyInARow + 1 : 0;
  if (REFUSED.includes(text)) return { outcome: "refused", error: text };
  return { outcome: NOTHING.test(text) ? "nothing" : "unknown", error: text };
}
