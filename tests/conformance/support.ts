import assert from "node:assert/strict";
import type { Claim, Enqueued, Id, NewWork, Queue, QueueOptions } from "../../mod.ts";
import type { BackendUnderTest, Opened } from "../support/backends.ts";

/** The role of everything that names no other. */
export const ROLE = "builder";

export const HOUR = 3_600_000;

/** An attempt as it is stored: 64-bit numbers as text, times as milliseconds since 1970, JSON parsed. */
export interface AttemptRow {
  attempt_id: string;
  workflow_id: string;
  role: string;
  tier: number | null;
  priority: number;
  status: string;
  outcome: string | null;
  payload: unknown;
  result: unknown;
  error: string | null;
  key: string | null;
  attempt_number: number;
  pickup_count: number;
  fencing_token: string;
  locked_by_instance: string | null;
  locked_at: number | null;
  lock_heartbeat_at: number | null;
  started_at: number | null;
  finished_at: number | null;
  run_at: number | null;
  created_at: number;
}

export interface WorkflowRow {
  workflow_id: string;
  status: string;
  stuck_reason: string | null;
  created_at: number;
  updated_at: number;
}

/** `NewWork` with every part optional. */
export interface Work {
  role?: string;
  tier?: number | null;
  payload?: unknown;
  priority?: number;
  workflowId?: Id;
  key?: string | null;
  delayMs?: number;
  runAt?: Date | string;
}

interface ClaimOptions {
  roles?: readonly string[];
  instanceId?: string;
  maxPickups?: number;
}

/** Migrated tables of one test, and short ways to arrange and look at them. */
export interface Fixture extends Omit<Opened, "queue"> {
  readonly opened: Opened;
  readonly queue: Queue;
  /** Enqueues one attempt. */
  add(work?: Work): Promise<Enqueued>;
  /** Claims, and fails the test if there is nothing to claim. */
  claim(options?: ClaimOptions): Promise<Claim>;
  /** Makes a STUCK workflow, out of an attempt of the role "doomed". */
  stick(work?: Work): Promise<Enqueued>;
  /** Makes a lease stale; the place in the queue stays. */
  silence(attemptId: string): Promise<void>;
  attempt(id: string): Promise<AttemptRow>;
  attempts(where?: string): Promise<AttemptRow[]>;
  workflow(id: string): Promise<WorkflowRow>;
  workflows(): Promise<WorkflowRow[]>;
  statusOf(workflowId: string): Promise<string>;
  /** Every row of both tables as the driver gives them. */
  dump(): Promise<unknown>;
  /** Fails the test if `work` changes a row. */
  unchangedBy<T>(work: () => Promise<T>): Promise<T>;
  /** The database's clock in milliseconds. */
  now(): Promise<number>;
  /** The SQL of an instant, in the form in which the dialect stores it. */
  instant(ms: number): string;
}

export async function fresh(backend: BackendUnderTest, options?: QueueOptions): Promise<Fixture> {
  const opened = await backend.open({ migrated: true });
  const queue = opened.queue(options);
  await queue.migrate();
  const { sql } = opened;
  const postgres = opened.dialect === "postgres";

  const epoch = (time: string) =>
    postgres ? `cast(extract(epoch from ${time}) * 1000 as float8)` : `round((julianday(${time}) - 2440587.5) * 86400000)`;
  const as = (names: string, expression: (name: string) => string) =>
    names.split(" ").map((name) => `${expression(name)} as ${name}`);
  const attemptColumns = [
    ...as("attempt_id workflow_id fencing_token payload result", (name) => `cast(${name} as text)`),
    "role, tier, priority, status, outcome, error, key, attempt_number, pickup_count, locked_by_instance",
    ...as("locked_at lock_heartbeat_at started_at finished_at run_at created_at", epoch),
  ].join(", ");
  const workflowColumns = [
    ...as("workflow_id", (name) => `cast(${name} as text)`),
    "status, stuck_reason",
    ...as("created_at updated_at", epoch),
  ].join(", ");

  const db: Fixture = {
    ...opened,
    opened,
    queue,
    add: (work) => queue.enqueue({ role: ROLE, ...work } as unknown as NewWork),
    claim: async (claimOptions) => acquired(await queue.dequeue({ roles: [ROLE], ...claimOptions })),
    stick: async (work) => {
      const done = await db.add({ role: "doomed", ...work });
      await db.claim({ roles: [work?.role ?? "doomed"] });
      await db.silence(done.attemptId);
      const { stuck } = await queue.reap({ maxPickups: 1 });
      assert.deepEqual(stuck.map((row) => row.attemptId), [done.attemptId]);
      return done;
    },
    silence: async (attemptId) => {
      const long = db.instant(await db.now() - HOUR);
      await sql(`update workflow_attempts set lock_heartbeat_at = ${long} where attempt_id = ${attemptId}`);
    },
    attempts: async (where = "true") => {
      const rows = await sql(`select ${attemptColumns} from workflow_attempts as a where ${where} order by a.attempt_id`);
      return rows.map((row) => ({ ...row, payload: parsed(row.payload), result: parsed(row.result) }) as unknown as AttemptRow);
    },
    attempt: async (id) => only(await db.attempts(`attempt_id = ${id}`)),
    workflows: async () => await sql(`select ${workflowColumns} from workflows as w order by w.workflow_id`) as unknown as WorkflowRow[],
    workflow: async (id) => only((await db.workflows()).filter((row) => row.workflow_id === id)),
    statusOf: async (id) => (await db.workflow(id)).status,
    dump: async () => [
      await sql("select * from workflows order by workflow_id"),
      await sql("select * from workflow_attempts order by attempt_id"),
    ],
    unchangedBy: async (work) => {
      const before = await db.dump();
      const result = await work();
      assert.deepEqual(await db.dump(), before);
      return result;
    },
    now: async () => Number(only(await sql(`select ${epoch(postgres ? "clock_timestamp()" : "'now'")} as now`))["now"]),
    instant: (ms) => {
      const iso = new Date(ms).toISOString();
      return postgres ? `cast('${iso}' as timestamptz)` : `'${iso.replace("T", " ").replace("Z", "")}'`;
    },
  };
  return db;
}

/** The one element of a list. */
export function only<T>(list: readonly T[]): T {
  assert.equal(list.length, 1);
  return list[0] as T;
}

/** The claim of a result, which must be one. */
export function acquired(result: { acquired: boolean }): Claim {
  assert.ok(result.acquired, JSON.stringify(result));
  return result as Claim;
}

/** For `assert.rejects` and `assert.throws`: the error has this code, and its message says this. */
export function failure(code: string, said: string | RegExp = ""): (error: unknown) => true {
  return (error) => {
    const { name, code: got, message } = error as { name: string; code: string; message: string };
    assert.equal(got, code, String(error));
    assert.equal(name, code === "lease_lost" ? "LeaseLostError" : "SkiplockedError");
    if (typeof said === "string" ? !message.includes(said) : !said.test(message)) assert.fail(`"${message}" does not say ${said}`);
    return true;
  };
}

export function ids(list: readonly { attemptId: string }[]): string[] {
  return list.map((each) => each.attemptId);
}

/** How many times a property is tried. A cell of the matrix plays fewer, since each plays others. */
export function runs(usual: number): number {
  return Math.ceil(usual / Number(process.env["SKIPLOCKED_FEWER_RUNS"] ?? 1));
}

export function range(length: number): number[] {
  return Array.from({ length }, (_, place) => place);
}

function parsed(json: unknown): unknown {
  return json === null ? null : JSON.parse(String(json));
}
