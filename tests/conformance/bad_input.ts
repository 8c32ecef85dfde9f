import assert from "node:assert/strict";
import { describe } from "node:test";
import { inspect } from "node:util";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { failure, ROLE } from "./support.ts";

// As a program without types calls it.
type Loose = Record<string, (...args: unknown[]) => Promise<unknown>>;

interface Case {
  values: unknown[];
  call: (queue: Loose, value: unknown) => Promise<unknown> | undefined;
  /** Whether a message must not say what was given. */
  isSecret?: boolean;
}

const LEASE = { attemptId: "1", instanceId: "me", fencingToken: "1" };
const ROLES = { roles: [ROLE] };
const HOLDERS = ["heartbeat", "complete", "fail", "release"];

// What is "given" is not null, which stands for left out in some places.
const GIVEN_TEXTS = [5, true, {}, [], Symbol("x"), "a\0b", "\0", "\ud800", "\udc00x", "😀\ud83d"];
const NAMES = [undefined, null, "", ...GIVEN_TEXTS];
const GIVEN_COUNTS = [0, 1.5, NaN, 2 ** 31, -1, Infinity, "5", 1n, {}];
const COUNTS = [null, ...GIVEN_COUNTS];
const GIVEN_SPANS = [-1, 0.5, NaN, Infinity, "5", 10n, 2 ** 53, 36_525 * 86_400_000 + 1];
const SPANS = [null, ...GIVEN_SPANS];
const INTEGERS = [1.5, NaN, 2 ** 31, -(2 ** 31) - 1, "5", true, {}];
const IDS = ["x", "", " 1", "1.0", "0x1", "-1", -1, 1.5, NaN, 2 ** 63, "9223372036854775808", 2n ** 63n, -1n, true, {}, [1]];
const NO_IDS = [undefined, null, ...IDS];
const cyclic: unknown[] = [];
cyclic.push({ cyclic });
const JSONS = [
  1n,
  NaN,
  Infinity,
  -Infinity,
  () => {},
  Symbol("x"),
  cyclic,
  "\0",
  "a\ud800",
  "\udfff",
  [1n],
  { a: { b: [NaN] } },
  { f() {} },
  { s: Symbol("x") },
  { "k\0": 1 },
  { "\ud83d": 1 },
  ["\\\0"],
  { toJSON: () => 1n },
  { toJSON: () => { throw new Error("no"); } },
];

const CASES: Record<string, Case> = {
  "the work of enqueue()": { values: [undefined, null, 5, "builder", () => {}], call: (queue, work) => queue["enqueue"]?.(work) },
  "an item of enqueue()": { values: [undefined, null, 5, "builder", []], call: (queue, item) => queue["enqueue"]?.([{ role: ROLE }, item]) },
  "a hole in the list of enqueue()": { values: [[, { role: ROLE }], new Array(2)], call: (queue, list) => queue["enqueue"]?.(list) },
  "a role of enqueue()": { values: [...NAMES, "x".repeat(10_001)], call: (queue, role) => queue["enqueue"]?.({ role }) },
  "a tier": { values: INTEGERS, call: (queue, tier) => queue["enqueue"]?.({ role: ROLE, tier }) },
  "a priority": { values: [null, ...INTEGERS], call: (queue, priority) => queue["enqueue"]?.({ role: ROLE, priority }) },
  "a payload": { values: JSONS, isSecret: true, call: (queue, payload) => queue["enqueue"]?.({ role: ROLE, payload }) },
  "a key": { values: ["", ...GIVEN_TEXTS, "x".repeat(2_001)], call: (queue, key) => queue["enqueue"]?.({ role: ROLE, key }) },
  "a workflowId": { values: IDS, call: (queue, workflowId) => queue["enqueue"]?.({ role: ROLE, workflowId }) },
  "a delayMs": { values: SPANS, call: (queue, delayMs) => queue["enqueue"]?.({ role: ROLE, delayMs }) },
  "a runAt": {
    values: [
      ...[new Date(NaN), new Date(8.64e15), new Date(-8.64e15), new Date(Date.UTC(10_000, 0)), 0, 1e12, null, "", "now", "2026-01-01"],
      ...["2026-01-01T00:00:00", "2026-01-01 00:00", "10000-01-01T00:00:00Z", "+010000-01-01T00:00:00Z", "0000-06-01T00:00:00Z"],
      ...["2026-13-01T00:00:00Z", "2026-01-01T25:00:00Z", "2026-02-30T00:00:00Z", "Thu, 01 Jan 2026 00:00:00 GMT", "infinity"],
    ],
    call: (queue, runAt) => queue["enqueue"]?.({ role: ROLE, runAt }),
  },
  "a runAt beside delayMs": { values: [new Date(0)], call: (queue, runAt) => queue["enqueue"]?.({ role: ROLE, delayMs: 0, runAt }) },
  "the options of dequeue()": { values: [undefined, null, 5, ROLE, [ROLE]], call: (queue, options) => queue["dequeue"]?.(options) },
  "roles": { values: [undefined, null, ROLE, {}, new Set([ROLE])], call: (queue, roles) => queue["dequeue"]?.({ roles }) },
  "one of roles": { values: NAMES, call: (queue, role) => queue["dequeue"]?.({ roles: [ROLE, role] }) },
  "a hole in roles": { values: [[, ROLE]], call: (queue, roles) => queue["dequeue"]?.({ roles }) },
  "an instanceId of dequeue()": {
    values: ["", ...GIVEN_TEXTS],
    call: (queue, instanceId) => queue["dequeue"]?.({ ...ROLES, instanceId }),
  },
  "a maxPickups of dequeue()": {
    values: GIVEN_COUNTS,
    call: (queue, maxPickups) => queue["dequeue"]?.({ ...ROLES, maxPickups }),
  },
  "a maxPickups of dequeueMany()": { values: [0, -1], call: (queue, maxPickups) => queue["dequeueMany"]?.({ ...ROLES, limit: 1, maxPickups }) },
  "a limit of dequeueMany()": { values: [undefined, ...COUNTS], call: (queue, limit) => queue["dequeueMany"]?.({ ...ROLES, limit }) },
  "a limit of dequeueMany() without roles": { values: [0, NaN], call: (queue, limit) => queue["dequeueMany"]?.({ roles: [], limit }) },
  ...Object.fromEntries(HOLDERS.flatMap((name): [string, Case][] => [
    [`the lease of ${name}()`, { values: [undefined, null, 5, "1", {}], call: (queue, lease) => queue[name]?.(lease) }],
    [`an attemptId of ${name}()`, { values: NO_IDS, call: (queue, attemptId) => queue[name]?.({ ...LEASE, attemptId }) }],
    [`a fencingToken of ${name}()`, { values: NO_IDS, call: (queue, fencingToken) => queue[name]?.({ ...LEASE, fencingToken }) }],
    [`an instanceId of ${name}()`, { values: NAMES, call: (queue, instanceId) => queue[name]?.({ ...LEASE, instanceId }) }],
  ])),
  "a lease in the list of heartbeat()": {
    values: [undefined, null, "1", {}, { ...LEASE, instanceId: "" }],
    call: (queue, lease) => queue["heartbeat"]?.([LEASE, lease]),
  },
  "the options of complete()": { values: [null, 5, "done", []], call: (queue, options) => queue["complete"]?.(LEASE, options) },
  "an outcome of complete()": { values: GIVEN_TEXTS, call: (queue, outcome) => queue["complete"]?.(LEASE, { outcome }) },
  "a result of complete()": { values: JSONS, isSecret: true, call: (queue, result) => queue["complete"]?.(LEASE, { result }) },
  "a next of complete()": { values: [null, 5, {}, { role: ROLE }, [5], [{ role: "" }]], call: (queue, next) => queue["complete"]?.(LEASE, { next }) },
  "a hole in next": { values: [[, { role: ROLE }]], call: (queue, next) => queue["complete"]?.(LEASE, { next }) },
  "a workflowId in next": {
    values: ["1", 1n, null],
    call: (queue, workflowId) => queue["complete"]?.(LEASE, { next: [{ role: ROLE, workflowId }] }),
  },
  "the options of fail()": { values: [null, 5, "done", []], call: (queue, options) => queue["fail"]?.(LEASE, options) },
  "an outcome of fail()": {
    values: ["attempt-pickup-exhausted", ...GIVEN_TEXTS],
    call: (queue, outcome) => queue["fail"]?.(LEASE, { outcome }),
  },
  "a result of fail()": { values: JSONS, isSecret: true, call: (queue, result) => queue["fail"]?.(LEASE, { result }) },
  "a retry of fail()": { values: [null, true, 3, []], call: (queue, retry) => queue["fail"]?.(LEASE, { retry }) },
  "a delayMs of a retry": { values: SPANS, call: (queue, delayMs) => queue["fail"]?.(LEASE, { retry: { delayMs } }) },
  "a tier of a retry": { values: INTEGERS, call: (queue, tier) => queue["fail"]?.(LEASE, { retry: { tier } }) },
  "a retry of worker-internal-error": {
    values: [{}, { delayMs: 1 }],
    call: (queue, retry) => queue["fail"]?.(LEASE, { outcome: "worker-internal-error", retry }),
  },
  "the options of reap()": { values: [null, 5, []], call: (queue, options) => queue["reap"]?.(options) },
  "a staleAfterMs of reap()": { values: GIVEN_SPANS, call: (queue, staleAfterMs) => queue["reap"]?.({ staleAfterMs }) },
  "a maxPickups of reap()": { values: GIVEN_COUNTS, call: (queue, maxPickups) => queue["reap"]?.({ maxPickups }) },
  "a limit of reap()": { values: COUNTS, call: (queue, limit) => queue["reap"]?.({ limit }) },
  "a workflowId of retry()": { values: NO_IDS, call: (queue, id) => queue["retry"]?.(id) },
  "a workflowId of cancel()": { values: NO_IDS, call: (queue, id) => queue["cancel"]?.(id) },
  "the options of prune()": { values: [undefined, null, 5], call: (queue, options) => queue["prune"]?.(options) },
  "an olderThanMs of prune()": { values: [undefined, ...SPANS], call: (queue, olderThanMs) => queue["prune"]?.({ olderThanMs }) },
  "a limit of prune()": { values: COUNTS, call: (queue, limit) => queue["prune"]?.({ olderThanMs: 0, limit }) },
};

export function badInput(backend: BackendUnderTest): void {
  describe(`${backend.name} · bad input`, () => {
    for (const [argument, { values, call, isSecret }] of Object.entries(CASES)) {
      test(`${argument} is refused before any SQL when it makes no sense`, async () => {
        // Without tables: whoever ran SQL would be told schema_missing.
        const queue = (await backend.open()).queue() as unknown as Loose;
        const faults = [];
        for (const [place, value] of values.entries()) {
          const what = `value ${place} (${inspect(value, { depth: 1, maxStringLength: 60 })})`;
          try {
            await assert.rejects(call(queue, value) as Promise<unknown>, failure("invalid_argument", isSecret ? argument.split(" ")[1] : shown(value)), what);
          } catch (error) {
            faults.push(`${what}: ${(error as Error).message.split("\n")[0]}`);
          }
        }
        assert.deepEqual(faults, []);
      });
    }

    test("what is refused says what cannot be done, which argument, what it must be and what it was", async () => {
      const queue = (await backend.open()).queue();
      await assert.rejects(queue.dequeueMany({ roles: [ROLE], limit: 0 }), failure("invalid_argument", /dequeue.*"limit".*1.*got 0/));
      await assert.rejects(queue.dequeue({ roles: ["a", ""] }), failure("invalid_argument", /dequeue.*roles\[1\].*got ""/));
      await assert.rejects(queue.reap({ staleAfterMs: -1 }), failure("invalid_argument", /reap.*"staleAfterMs".*got -1/));
      await assert.rejects(queue.dequeue({ roles: [ROLE], limit: 3 } as never), failure("invalid_argument", /dequeue.*no "limit"/));
      const claim = queue.dequeue({ roles: [] });
      await assert.rejects(queue.complete(claim as never), failure("invalid_argument", /complete.*"lease".*await/));
      await assert.rejects(queue.heartbeat([await claim as never]), failure("invalid_argument", /heartbeat.*acquired.*refusal/));
    });

    test("a message stays short whatever was given", async () => {
      const queue = (await backend.open()).queue();
      const long = ["x\0".repeat(1e6), "\0\n".repeat(1e6)];
      const calls = long.flatMap((text) => [queue.dequeue({ roles: [ROLE], instanceId: text }), queue.enqueue({ role: ROLE, payload: { ["x".repeat(1e6)]: NaN } })]);
      for (const call of calls) {
        const error = await call.then(() => assert.fail(), (thrown) => thrown);
        assert.equal(error.code, "invalid_argument");
        assert.ok(error.message.length < 1_000 && !error.message.includes("\n"));
      }
    });

    test("what is at the edge of sense is taken", async () => {
      const opened = await backend.open();
      const queue = opened.queue();
      await queue.migrate();
      const most = 2 ** 31 - 1;
      const century = 36_525 * 86_400_000;
      const edges = [{ role: "r".repeat(2_000) }, { role: "k", key: "k".repeat(2_000) }, { role: "0", tier: 0, priority: -(2 ** 31) }];
      await queue.enqueue([...edges, { role: "1", tier: most, priority: most }, { role: "2", delayMs: century }]);
      const claims = await queue.dequeueMany({ roles: edges.map((edge) => edge.role), limit: most, maxPickups: most });
      assert.equal(claims.length, 3);
      await queue.reap({ staleAfterMs: century, maxPickups: most, limit: most });
      await queue.prune({ olderThanMs: century, limit: most });
      assert.equal((await opened.sql("select 1 from workflow_attempts")).length, 5);
    });
  });
}

/** What a message must say of a value: the value itself where it is short and has a text. */
function shown(value: unknown): string {
  if (["number", "boolean", "undefined"].includes(typeof value) || value === null) return String(value);
  if (typeof value === "bigint") return `${value}`;
  return typeof value === "string" && value.length <= 40 ? JSON.stringify(value) : "";
}
