import assert from "node:assert/strict";
import fc from "fast-check";
import { INTERNAL_ERROR, type Lease, OLDER_WORKFLOW, type Outcome, STEP_MS, type Subject, type Work } from "./subject.ts";

/** What one run of commands works on. */
export interface World {
  readonly model: Subject;
  readonly database: Subject;
  /** Every lease that was ever given, held or lost. */
  readonly leases: Lease[];
  readonly workflowIds: Set<string>;
  commands: number;
}

export type Command = fc.AsyncCommand<World, null>;

/** An operation whose arguments are known before it runs, or are chosen from what the world has when it does. */
type Run = (subject: Subject, world: World) => Outcome;

// A dump of both tables costs as much as a few operations.
const DUMP_EVERY = 5;

export class Operation implements Command {
  /** What it does to a subject. */
  readonly on: Run;
  readonly #text: string;

  constructor(text: string, on: Run) {
    this.#text = text;
    this.on = on;
  }

  check(): boolean {
    return true;
  }

  async run(world: World): Promise<void> {
    const { model, database } = world;
    // Both choose from the same world, which only then learns what came of it.
    const wanted = await outcomeOf(() => this.on(model, world));
    const got = await outcomeOf(() => this.on(database, world));
    assert.deepEqual(got, wanted, this.#text);
    learn(world, wanted);
    if (++world.commands % DUMP_EVERY === 0) await compareTables(world);
  }

  toString(): string {
    return this.#text;
  }
}

/** @throws {assert.AssertionError} If any row of the two tables differs. */
export async function compareTables({ model, database }: World): Promise<void> {
  assert.deepEqual(await database.dump(), await model.dump());
}

/** The answer, or the code of the refusal. */
export async function outcomeOf(run: () => Outcome): Promise<Outcome> {
  try {
    return await run() ?? {};
  } catch (error) {
    // Anything without a code is a bug of the test.
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    return { refused: (error as { code: string }).code };
  }
}

function learn(world: World, outcome: Outcome): void {
  const several = [outcome].flat() as Partial<Lease & { workflowId: string }>[];
  for (const { attemptId, instanceId, fencingToken, workflowId } of several) {
    if (workflowId !== undefined) world.workflowIds.add(workflowId);
    if (attemptId !== undefined && instanceId !== undefined && fencingToken !== undefined) {
      world.leases.push({ attemptId, instanceId, fencingToken });
    }
  }
}

const NEVER_THERE = "999999999";

const ROLES = ["builder", "mailer", "indexer"];
const role = fc.constantFrom(...ROLES);
const roles = fc.oneof({ weight: 4, arbitrary: fc.constant(ROLES) }, fc.array(role, { maxLength: 3 }));
const owner = fc.constantFrom("host/1/a", "host/2/b");
const maxPickups = fc.constantFrom(3, 3, 2, 1);
const json = fc.constantFrom<unknown>(null, 0, "text", false, [1, { deep: ["ü", null] }], { builder: "x" });
const delay = fc.constantFrom(0, STEP_MS * 1.5);
const outcome = fc.constantFrom(null, "done");
const tier = fc.integer({ min: -1, max: 2 });

const when = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  delay.map((delayMs) => ({ delayMs })),
  fc.constantFrom(-STEP_MS / 2, STEP_MS * 1.5).map((runInMs) => ({ runInMs })),
);
const work: fc.Arbitrary<Work> = fc.tuple(
  when,
  fc.record(
    { role, tier, priority: fc.integer({ min: -1, max: 1 }), payload: json },
    { requiredKeys: ["role"] },
  ),
  fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, fc.constantFrom("k1", "k2", "k3").map((key) => ({ key }))),
).map(([time, rest, key]) => ({ ...rest, ...time, ...key }));

// A place in the list of workflows seen so far, whose rows may be gone by now.
const workflowPlace = fc.oneof(
  { weight: 24, arbitrary: fc.nat(30) },
  fc.constantFrom("never there" as const, "older program's" as const),
);
const workAnywhere = fc.record({ work, joins: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, workflowPlace) });

// Mostly a lease given lately, which is held or was lost a little while ago.
const leasePlace = fc.record({
  back: fc.oneof({ weight: 3, arbitrary: fc.nat(3) }, fc.nat(20)),
  change: fc.oneof({ weight: 12, arbitrary: fc.constant("as given" as const) }, fc.constantFrom("next token" as const, "another owner" as const)),
});

function workflowAt({ workflowIds }: World, at: number | "never there" | "older program's"): string {
  if (typeof at === "string") return at === "never there" ? NEVER_THERE : OLDER_WORKFLOW;
  return [...workflowIds].at(at % workflowIds.size) ?? NEVER_THERE;
}

function leaseAt({ leases }: World, { back, change }: { back: number; change: string }): Lease {
  const lease = leases[leases.length - 1 - back % Math.max(1, leases.length)] ?? { attemptId: NEVER_THERE, instanceId: "nobody", fencingToken: "1" };
  if (change === "next token") return { ...lease, fencingToken: String(Number(lease.fencingToken) + 1) };
  return change === "another owner" ? { ...lease, instanceId: "host/3/c" } : lease;
}

function operation<T>(name: string, args: fc.Arbitrary<T>, run: (subject: Subject, args: T, world: World) => Outcome): fc.Arbitrary<Operation> {
  return args.map((given) => new Operation(`${name}(${JSON.stringify(given)})`, (subject, world) => run(subject, given, world)));
}

const enqueue = operation("enqueue", fc.array(workAnywhere, { minLength: 1, maxLength: 4 }), (subject, list, world) =>
  subject.enqueue(list.map(({ work, joins }) => joins === null ? work : { ...work, workflowId: workflowAt(world, joins) })));
const dequeue = operation("dequeue", fc.record({ roles, owner, maxPickups }), (subject, { roles, owner, maxPickups }) =>
  subject.dequeue(roles, owner, maxPickups));
const dequeueMany = operation("dequeueMany", fc.record({ roles, limit: fc.integer({ min: 1, max: 4 }), owner, maxPickups }),
  (subject, { roles, limit, owner, maxPickups }) => subject.dequeueMany(roles, limit, owner, maxPickups));
const heartbeat = operation("heartbeat", fc.array(leasePlace, { maxLength: 4 }), (subject, places, world) =>
  subject.heartbeat(places.map((at) => leaseAt(world, at))));
const complete = operation("complete",
  fc.record({ at: leasePlace, outcome, result: json, next: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(work, { maxLength: 3 })) }),
  (subject, { at, outcome, result, next }, world) => subject.complete(leaseAt(world, at), outcome, result, next));
const failure = fc.oneof(
  fc.record({ outcome: fc.constantFrom(null, "refused", INTERNAL_ERROR, INTERNAL_ERROR), error: fc.constantFrom(null, "boom"), result: json }),
  fc.record({
    outcome, error: fc.constant("boom"), result: json, retry: fc.record({ delayMs: delay, tier }, { requiredKeys: [] }),
  }),
);
const fail = operation("fail", fc.record({ at: leasePlace, failure }), (subject, { at, failure }, world) => subject.fail(leaseAt(world, at), failure));
const release = operation("release", leasePlace, (subject, at, world) => subject.release(leaseAt(world, at)));
const reap = operation("reap",
  fc.record({ staleAfterMs: fc.constantFrom(STEP_MS * 0.5, STEP_MS * 0.5, STEP_MS * 2.5), maxPickups, limit: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 3 }) }),
  (subject, { staleAfterMs, maxPickups, limit }) => subject.reap(staleAfterMs, maxPickups, limit));
const retry = operation("retry", workflowPlace, (subject, at, world) => subject.retry(workflowAt(world, at)));
const cancel = operation("cancel", workflowPlace, (subject, at, world) => subject.cancel(workflowAt(world, at)));
const prune = operation("prune", fc.constantFrom(STEP_MS * 0.5, STEP_MS * 2.5), (subject, olderThanMs) => subject.prune(olderThanMs));
const stats = operation("stats", fc.constant(null), (subject) => subject.stats());
const advance = operation("advance", fc.constantFrom(STEP_MS, 2 * STEP_MS), (subject, ms) => subject.advance(ms));
const olderInsert = operation("olderInsert",
  fc.record({ joins: fc.oneof(fc.nat(30), fc.constant("older program's" as const)), role, agoMs: fc.constantFrom(0, STEP_MS / 2) }),
  (subject, { joins, role, agoMs }, world) =>
    subject.olderInsert(world.workflowIds.size > 0 ? workflowAt(world, joins) : OLDER_WORKFLOW, role, agoMs));
const olderClaim = operation("olderClaim", role, (subject, role) => subject.olderClaim(role));

/** By how often it shall happen. */
export const commands: fc.Arbitrary<Operation>[] = [
  ...[enqueue, enqueue, enqueue, enqueue, dequeue, dequeue, dequeueMany, dequeueMany, dequeueMany, heartbeat],
  ...[complete, complete, complete, fail, fail, fail, release, reap, reap, reap, retry, retry, cancel, prune, stats],
  ...[advance, advance, olderInsert, olderClaim],
];

/** A few to begin with: workflows of several attempts, most of them claimed. */
export const opening: fc.Arbitrary<Operation[]> = fc.tuple(enqueue, enqueue, dequeueMany, fc.array(fc.oneof(...commands), { maxLength: 8 }), dequeueMany)
  .map(([one, two, claim, some, more]) => [one, two, claim, ...some, more]);

/** Some that go well at the same moment. Of those that pass by what others hold, one: two share the queue in any order. */
export const atOnce: fc.Arbitrary<Operation[]> = fc.tuple(
  fc.array(fc.oneof(enqueue, heartbeat, complete, complete, complete, fail, fail, release, retry, cancel), { minLength: 1, maxLength: 2 }),
  fc.oneof(dequeue, complete, fail, cancel, reap, prune),
).map(([some, one]) => [...some, one]);
