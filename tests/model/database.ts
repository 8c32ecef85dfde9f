import type { Claim, NewWork, Queue } from "../../mod.ts";
import type { Opened } from "../support/backends.ts";
import { steps } from "./state.ts";
import { type FailOptions, FIRST_ATTEMPT, FIRST_WORKFLOW, type Lease, OLDER_PROGRAM, NEW, type Outcome, type Subject, type Work } from "./subject.ts";

const TABLES = {
  workflow: { table: "workflows", id: "workflow_id", times: ["created_at", "updated_at"], json: [], names: {} },
  attempt: {
    table: "workflow_attempts",
    id: "attempt_id",
    times: ["locked_at", "lock_heartbeat_at", "started_at", "finished_at", "run_at", "created_at"],
    json: ["payload", "result"],
    names: { fencing_token: "token", locked_by_instance: "owner", lock_heartbeat_at: "heartbeatAt" } as Record<string, string>,
  },
} as const;

type Kind = keyof typeof TABLES;

/** The library on a database. */
export class DatabaseSubject implements Subject {
  readonly #opened: Opened;
  readonly #queue: Queue;
  // From the model's ids to those of the database, in the order of creation.
  readonly #ids: Record<Kind, { first: number; known: string[] }>;
  readonly #learns: boolean;

  private constructor(opened: Opened, queue: Queue, known?: DatabaseSubject) {
    this.#opened = opened;
    this.#queue = queue;
    this.#learns = known === undefined;
    this.#ids = known ? known.#ids : { workflow: { first: FIRST_WORKFLOW, known: [] }, attempt: { first: FIRST_ATTEMPT, known: [] } };
  }

  /** On empty tables. */
  static async on(opened: Opened): Promise<DatabaseSubject> {
    await opened.sql("delete from workflow_attempts");
    await opened.sql("delete from workflows");
    return new DatabaseSubject(opened, opened.queue());
  }

  /** The same tables through another queue. Others add rows meanwhile, so it learns no ids: what is new is "new". */
  through(queue: Queue): DatabaseSubject {
    return new DatabaseSubject(this.#opened, queue, this);
  }

  async enqueue(list: readonly Work[]): Promise<Outcome> {
    const work = list.map((each) => this.#work(each));
    const done = work.length === 1 ? [await this.#queue.enqueue(work[0]!)] : await this.#queue.enqueue(work);
    return await this.#modelIds(done);
  }

  async dequeue(roles: readonly string[], instanceId: string, maxPickups: number): Promise<Outcome> {
    return await this.#modelIds(await this.#queue.dequeue({ roles, instanceId, maxPickups }));
  }

  async dequeueMany(roles: readonly string[], limit: number, instanceId: string, maxPickups: number): Promise<Outcome> {
    return await this.#modelIds(await this.#queue.dequeueMany({ roles, limit, instanceId, maxPickups }));
  }

  heartbeat(leases: readonly Lease[]): Promise<Outcome> {
    return this.#queue.heartbeat(leases.map((lease) => this.#lease(lease)));
  }

  async complete(lease: Lease, outcome: string | null, result: unknown, next: readonly Work[]): Promise<Outcome> {
    const options = { outcome, result, next: next.map((work) => this.#work(work)) };
    return await this.#modelIds(await this.#queue.complete(this.#lease(lease), options));
  }

  async fail(lease: Lease, options: FailOptions): Promise<Outcome> {
    return await this.#modelIds(await this.#queue.fail(this.#lease(lease), options));
  }

  release(lease: Lease): Promise<Outcome> {
    return this.#queue.release(this.#lease(lease));
  }

  async reap(staleAfterMs: number, maxPickups: number, limit?: number): Promise<Outcome> {
    return await this.#modelIds(await this.#queue.reap({ staleAfterMs, maxPickups, ...limit !== undefined && { limit } }));
  }

  retry(workflowId: string): Promise<Outcome> {
    return this.#queue.retry(this.#databaseId("workflow", workflowId));
  }

  cancel(workflowId: string): Promise<Outcome> {
    return this.#queue.cancel(this.#databaseId("workflow", workflowId));
  }

  prune(olderThanMs: number): Promise<Outcome> {
    return this.#queue.prune({ olderThanMs });
  }

  async stats(): Promise<Outcome> {
    const { roles, stuck } = await this.#queue.stats();
    const inSteps = (ms: number | null) => ms === null ? null : steps(ms);
    return {
      roles: roles.map((role) => ({
        ...role,
        oldestPendingMs: inSteps(role.oldestPendingMs),
        oldestHeartbeatMs: inSteps(role.oldestHeartbeatMs),
      })),
      stuck,
    };
  }

  async olderInsert(workflowId: string, role: string, createdAgoMs: number): Promise<void> {
    const id = this.#databaseId("workflow", workflowId);
    await this.#opened.sql(`insert into workflow_attempts (workflow_id, role, status, pickup_count, created_at)
      values (${id}, '${role}', 'pending', 0, ${this.#ago(this.#now(), createdAgoMs)})`);
    await this.#learnIds();
  }

  async olderClaim(role: string): Promise<void> {
    const [row] = await this.#opened.sql(`select attempt_id from workflow_attempts
      where role = '${role}' and status = 'pending' order by created_at, attempt_id limit 1`);
    const now = this.#now();
    await this.#opened.sql(`update workflow_attempts set status = 'in_progress', locked_by_instance = '${OLDER_PROGRAM}',
      locked_at = ${now}, lock_heartbeat_at = ${now}, started_at = ${now}
      where attempt_id = ${row?.attempt_id ?? 0} and status = 'pending'`);
  }

  async advance(ms: number): Promise<void> {
    for (const { table, times } of Object.values(TABLES)) {
      await this.#opened.sql(`update ${table} set ${times.map((time) => `${time} = ${this.#ago(time, ms)}`).join(", ")}`);
    }
  }

  async dump(): Promise<Outcome> {
    return [await this.#dumpTable("workflow"), await this.#dumpTable("attempt")];
  }

  async #dumpTable(kind: Kind): Promise<Outcome> {
    const { table, id, times, json, names } = TABLES[kind];
    const ages = times.map((time) => `${this.#age(time)} as ${time}`);
    const texts = json.map((column) => `cast(${column} as text) as ${column}`);
    const rows = await this.#opened.sql(`select t.*, ${[...ages, ...texts].join(", ")} from ${table} as t order by ${id}`);
    const dumped = rows.map((row) => {
      const entries = Object.entries(row).map(([column, value]): [string, unknown] => {
        if (column === id) return ["id", this.#modelId(kind, value)];
        if (column === "workflow_id") return ["workflowId", this.#modelId("workflow", value)];
        const name = names[column as never] ?? column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
        if (value === null) return [name, null];
        if ((times as readonly string[]).includes(column)) return [name, steps(Number(value))];
        if ((json as readonly string[]).includes(column)) return [name, JSON.parse(String(value))];
        return [name, column === "fencing_token" ? Number(value) : value];
      });
      return Object.fromEntries(entries);
    });
    return dumped;
  }

  // Every row that is new, also what complete and fail add without giving its id.
  async #learnIds(): Promise<void> {
    if (!this.#learns) return;
    for (const kind of ["workflow", "attempt"] as const) {
      const { known } = this.#ids[kind];
      const { table, id } = TABLES[kind];
      const after = Math.max(Number(known.at(-1) ?? 0), kind === "workflow" ? FIRST_WORKFLOW - 1 : 0);
      const rows = await this.#opened.sql(`select ${id} as id from ${table} where ${id} > ${after} order by ${id}`);
      known.push(...rows.map((row) => String(row.id)));
    }
  }

  async #modelIds(outcome: unknown): Promise<Outcome> {
    await this.#learnIds();
    return JSON.parse(JSON.stringify(outcome ?? null), (name, value) => {
      if (name === "workflowId") return this.#modelId("workflow", value);
      return name === "attemptId" ? this.#modelId("attempt", value) : value;
    });
  }

  #modelId(kind: Kind, id: unknown): string {
    const { first, known } = this.#ids[kind];
    const place = known.indexOf(String(id));
    if (place !== -1) return String(first + place);
    return this.#learns || kind === "workflow" && Number(id) < first ? String(id) : NEW;
  }

  #databaseId(kind: Kind, id: string): string {
    const { first, known } = this.#ids[kind];
    return known[Number(id) - first] ?? id;
  }

  #lease(lease: Lease): Pick<Claim, "attemptId" | "instanceId" | "fencingToken"> {
    return { ...lease, attemptId: this.#databaseId("attempt", lease.attemptId) };
  }

  #work({ workflowId, runInMs, ...work }: Work): NewWork {
    return {
      ...work,
      ...workflowId !== undefined && { workflowId: this.#databaseId("workflow", workflowId) },
      ...runInMs !== undefined && { runAt: new Date(Date.now() + runInMs) },
    } as unknown as NewWork;
  }

  #now(): string {
    return this.#opened.dialect === "postgres" ? "clock_timestamp()" : "strftime('%Y-%m-%d %H:%M:%f', 'now')";
  }

  #ago(time: string, ms: number): string {
    return this.#opened.dialect === "postgres"
      ? `${time} - ${ms} * interval '1 millisecond'`
      : `strftime('%Y-%m-%d %H:%M:%f', ${time}, '-${ms / 1000} seconds')`;
  }

  #age(time: string): string {
    return this.#opened.dialect === "postgres"
      ? `cast(extract(epoch from clock_timestamp() - ${time}) * 1000 as double precision)`
      : `(julianday('now') - julianday(${time})) * 86400000`;
  }
}

/** Moves the ids of new workflows away from those that the older program's attempts name. */
export async function reserveOlderIds(opened: Opened): Promise<void> {
  const last = FIRST_WORKFLOW - 1;
  await opened.sql(opened.dialect === "postgres"
    ? `select setval('workflows_workflow_id_seq', ${last})`
    : `insert into workflows (workflow_id) values (${last})`);
}
