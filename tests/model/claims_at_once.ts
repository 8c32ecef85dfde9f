import assert from "node:assert/strict";
import type { Queue } from "../../mod.ts";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { open } from "./arena.ts";

const EIGHT = 8;

/** Many claim at once, and none of them goes without. */
export function testClaims(backend: BackendUnderTest): void {
  for (const limit of [undefined, 7]) {
    test(`eight claimers of ${limit ?? "one each"} never come away empty while something is free`, async () => {
      const arena = await open(backend, EIGHT);
      const roles = ["r1", "r2", "r3", "r4", "r5"];
      const ids = await enqueueMany(arena.queues, roles, backend.dialect === "postgres" ? 2_000 : 600);
      const claims: string[] = [];
      // What calls in flight may yet take is set aside, so that each finds something free whatever the others do.
      let free = ids.length;
      await Promise.all(arena.queues.map(async (queue) => {
        while (free >= (limit ?? 1)) {
          free -= limit ?? 1;
          const got = limit === undefined ? [await queue.dequeue({ roles })] : await queue.dequeueMany({ roles, limit });
          const acquired = got.flatMap((claim) => claim.acquired ? claim.attemptId : []);
          assert.ok(acquired.length > 0 && acquired.length <= (limit ?? 1), JSON.stringify(got));
          claims.push(...acquired);
          free += (limit ?? 1) - acquired.length;
        }
      }));
      assert.equal(new Set(claims).size, claims.length);
      assert.ok(claims.length > ids.length - (limit ?? 1));
      await arena.close();
    });
  }
}

/** The same on Postgres, whatever the caller's connection is set to. */
export function testClaimsUnderSettings(backend: BackendUnderTest): void {
  const switches = ["nestloop", "hashjoin", "mergejoin", "indexscan", "indexonlyscan", "bitmapscan", "seqscan", "sort", "material", "memoize", "hashagg"];
  const off = (...names: string[]) => Object.fromEntries(names.map((name) => [`enable_${name}`, "off"]));
  const plans: Record<string, string>[] = [
    ...switches.map((name) => off(name)),
    off("nestloop", "indexscan", "indexonlyscan", "bitmapscan"), off("nestloop", "hashjoin", "sort"), off("nestloop", "mergejoin"),
    { ...off("seqscan"), plan_cache_mode: "force_generic_plan" },
  ];
  test("claims that are not committed yet are passed by, however many they are", async () => {
    const { opened, queues: [queue] } = await open(backend, 1);
    const ids = await enqueueMany([queue!], ["r1", "r2"], 60);
    await opened.transaction(async (transaction) => {
      const held = await opened.queue().using(transaction).dequeueMany({ roles: ["r1", "r2"], limit: 50 });
      assert.equal(held.length, 50);
      const claim = await queue!.dequeue({ roles: ["r1", "r2"] });
      assert.equal(claim.acquired && claim.attemptId, ids[50]);
      const claims = await queue!.dequeueMany({ roles: ["r1", "r2"], limit: 5 });
      assert.ok(claims.length > 0 && claims.every(({ attemptId }) => ids.indexOf(attemptId) > 50));
    });
  });

  // Without jit: a plan that is forced costs so much that each would be compiled.
  test("whatever plan is made, a claim takes no more than it may, in order", async () => {
    for (const settings of plans) {
      const arena = await open(backend, 3, { ...settings, jit: "off" });
      const roles = ["r1", "r2", "r3"];
      const ids = await enqueueMany(arena.queues, roles, 120);
      const claims: string[][] = [];
      await Promise.all(arena.queues.map(async (queue) => {
        for (let got = [""]; got.length > 0;) {
          got = (await queue.dequeueMany({ roles, limit: 4 })).map(({ attemptId }) => attemptId);
          assert.ok(got.length <= 4, JSON.stringify(settings));
          assert.deepEqual(got, got.toSorted(byNumber), JSON.stringify(settings));
          claims.push(got);
        }
      }));
      assert.deepEqual(claims.flat().sort(byNumber), ids, JSON.stringify(settings));
      await arena.close();
    }
  });

  for (const level of ["repeatable read", "serializable"]) {
    test(`eight drain 500 attempts where ${level} is the default`, async () => {
      const arena = await open(backend, EIGHT, { default_transaction_isolation: level });
      const roles = ["r1", "r2", "r3"];
      const ids = await enqueueMany(arena.queues, roles, 500);
      const done: string[] = [];
      await Promise.all(arena.queues.map(async (queue) => {
        for (let claim = await queue.dequeue({ roles }); claim.acquired; claim = await queue.dequeue({ roles })) {
          await queue.heartbeat(claim);
          await queue.complete(claim);
          done.push(claim.attemptId);
        }
      }));
      assert.deepEqual(done.sort(byNumber), ids);
      assert.deepEqual(await arena.opened.sql("select distinct status from workflows"), [{ status: "SUCCEEDED" }]);
      await arena.close();
    });
  }
}

async function enqueueMany([queue]: readonly Queue[], roles: string[], count: number): Promise<string[]> {
  const done = await queue!.enqueue(Array.from({ length: count }, (_, n) => ({ role: roles[n % roles.length]! })));
  return done.map(({ attemptId }) => attemptId);
}

function byNumber(a: string, b: string): number {
  return Number(a) - Number(b);
}
