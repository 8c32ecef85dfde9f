import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Arena, ArenaSettings } from "./arena.ts";
import { now } from "./clock.ts";
import { journalsIn } from "./journal.ts";
import { usedFile } from "./share.ts";

/** The work of an arena: how much may be enqueued, and how much is left of it. */
export interface Flow {
  /** Lets producers enqueue what is numbered below `upTo`; what was released before stays. */
  release(upTo: number): void;
  /** Whether slow work takes its time. */
  slow(isSlow: boolean): void;
  /** Releases as much and waits until somebody holds something and more is waiting; false if all is done before that was seen. */
  busy(upTo: number): Promise<boolean>;
  /** Waits until all that was released is enqueued, and done but for so much. */
  drained(most: number): Promise<void>;
  /** How many pieces of work are in the table: what retries and follow-ups were made of them counts no more. */
  pieces(): Promise<number>;
}

const POLL_MS = 50;
// Only what is broken stands still for so long, also on a machine that has ten times as much to do as it can.
const STALLED_MS = 180_000;

const STATE = `select (select count(*) from workflow_attempts where status = 'pending') as pending,
  (select count(*) from workflow_attempts where status = 'in_progress') as held,
  (select count(*) from workflow_attempts where status = 'scheduled')
  + (select count(*) from workflow_attempts as a join workflows as w on w.workflow_id = a.workflow_id
     where a.status = 'failed' and a.outcome = 'worker-internal-error' and w.status = 'ACTIVE') as others,
  (select max(attempt_id) from workflow_attempts) as made`;
const PIECES = `select count(*) as pieces from workflow_attempts where attempt_number = 1 and cast(payload as text) not like '%"followed"%'`;
const OPEN_ROWS = `select attempt_id, role, status, outcome, pickup_count, fencing_token, locked_by_instance, lock_heartbeat_at, created_at
  from workflow_attempts where status in ('pending', 'scheduled', 'in_progress') or outcome = 'worker-internal-error' limit 5`;

/** @param complaints What processes of the crew said that never should have ended: with the first of them the run is over. */
export function startFlow(arena: Arena, settings: ArenaSettings, complaints: readonly string[]): Flow {
  const shares = arena.slots.filter(({ script }) => script === "producer").map((_, share) => share);
  let released = 0;
  release(0);

  function release(upTo: number): void {
    writeFileSync(settings.allowance, String(released = Math.max(released, Math.ceil(upTo))));
  }

  function isUsedUp(): boolean {
    return shares.every((share) => readNumber(usedFile(settings.allowance, share)) >= released);
  }

  // Looks again and again, as long as anything moves.
  async function until<T>(judge: (state: { pending: number; held: number; left: number; used: boolean }) => T | undefined): Promise<T> {
    for (let last = { text: "", at: now() };;) {
      // Asked before the table: what is used up by then is in it.
      const used = isUsedUp();
      const [row] = await arena.query(STATE).catch((error): Record<string, unknown>[] => [{ error: String(error) }]);
      if (complaints.length > 0) throw new Error(complaints.join("\n"));
      const text = JSON.stringify(row);
      if (text !== last.text && !("error" in row!)) last = { text, at: now() };
      if (!("error" in row!)) {
        const [pending, held, others] = [Number(row!["pending"]), Number(row!["held"]), Number(row!["others"])];
        const answer = judge({ pending, held, left: pending + held + others, used });
        if (answer !== undefined) return answer;
      }
      if (now() - last.at > STALLED_MS) throw await stalled(arena, settings, `${text}, ${used ? "" : "not "}all enqueued up to ${released}`);
      await sleep(POLL_MS);
    }
  }

  return {
    release,
    slow: (isSlow) => isSlow ? writeFileSync(settings.slowSign, "") : rmSync(settings.slowSign, { force: true }),
    busy(upTo) {
      release(upTo);
      return until(({ pending, held, left, used }) => held > 0 && pending > 0 || (used && left === 0 ? false : undefined));
    },
    drained: (most) => until(({ left, used }) => used && left <= most || undefined).then(() => {}),
    async pieces() {
      const [row] = await arena.query(PIECES);
      return Number(row!["pieces"]);
    },
  };
}

function readNumber(file: string): number {
  try {
    const text = readFileSync(file, "utf8");
    return text === "" ? -1 : Number(text);
  } catch {
    return -1;
  }
}

// With what a person would look at first.
async function stalled(arena: Arena, { journals }: ArenaSettings, state: string): Promise<Error> {
  const rows = await arena.query(OPEN_ROWS).catch((error) => [{ error: String(error) }]);
  const tails = journalsIn(journals).map((file) => `${file}\n${readFileSync(file, "utf8").split("\n").slice(-4).join("\n")}`);
  return new Error([`Nothing happened for ${STALLED_MS / 1_000} s: ${state}`, ...rows.map((row) => JSON.stringify(row)), ...tails].join("\n"));
}
