// A network that swallows everything and ends nothing. A call hangs for as long as the driver lets it; what holds is what the tables say.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { describe } from "node:test";
import pg from "pg";
import postgres from "postgres";
import { type Claim, type Connection, createQueue, type Queue } from "../mod.ts";
import { type FaultyProxy, faultyProxy, type Place } from "./support/faulty_proxy.ts";
import { atEnd, test } from "./support/testing.ts";
import { arrange, OPERATIONS, wasDone } from "./support/uncertain_operations.ts";

const URL_GIVEN = process.env["DATABASE_URL"];
const PATIENCE_MS = 20_000;

/** What ends a lease. */
const ENDS = ["complete()", "fail()", "release()"];

/** A connection, and what ends it when a call hangs. */
type Open = (proxy: FaultyProxy) => { connection: Connection; giveUp(): unknown; close(): Promise<unknown> };

const DRIVERS: Record<string, Open> = {
  "postgres.js · silent network, which its caller ends": ({ url }) => {
    const sql = postgres(url, { max: 1, fetch_types: false, onnotice() {} });
    return { connection: sql, giveUp: () => sql.end({ timeout: 0 }), close: () => sql.end({ timeout: 0 }) };
  },
  // Its end() waits for calls under way.
  "pg Pool · silent network, which the system ends": ({ url, giveUp }) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", () => {});
    return { connection: pool, giveUp, close: () => pool.end() };
  },
};

for (const [driver, open] of Object.entries(DRIVERS)) {
  describe(driver, { skip: URL_GIVEN === undefined && "no DATABASE_URL" }, () => {
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      test(`${name} rejects once its connection is ended, is done wholly or not at all, and what arrives late doubles nothing`, async () => {
        const eyes = postgres(String(URL_GIVEN), { max: 1, onnotice() {} });
        const schema = `silent_${randomUUID()}`;
        const direct = createQueue(eyes, { schema, instanceId: "me" });
        await direct.migrate();
        atEnd(async () => {
          await eyes.unsafe(`drop schema "${schema}" cascade`);
          await eyes.end();
        });
        let silences = 0;

        for (const meanwhile of ENDS.includes(name) ? [askAgain, loseIt] : [askAgain]) {
          for (const place of ["request", "answer"] as const) {
            for (let message = 1; message <= 6 && await hangs(place, message, meanwhile); message++) silences++;
          }
        }
        assert.ok(silences >= 2, "one of each at least");

        /** Whether an operation has so many messages. */
        async function hangs(place: Place, message: number, meanwhile: typeof askAgain): Promise<boolean> {
          const claim = await arrange(direct, eyes, schema);
          const proxy = await faultyProxy(String(URL_GIVEN));
          const { connection, giveUp, close } = open(proxy);
          try {
            const queue = createQueue(connection, { schema, instanceId: "me" });
            await queue.stats();
            const silent = proxy.silence(place, message).then(() => "silent" as const);
            const call = operation.act(queue, claim).then(() => "done" as const, (error: Error) => error);
            if (await Promise.race([silent, call]) !== "silent") {
              assert.equal(await call, "done");
              return false;
            }
            // An answer to nothing: whoever is not behind that network goes on.
            await direct.dequeue({ roles: ["nobody's"] });
            await giveUp();
            const outcome = await within(call);
            assert.ok(outcome instanceof Error, `${place} ${message}: ${outcome}`);
            assert.notEqual((outcome as { code?: string }).code, "lease_lost");
            const look = () => wasDone(operation, eyes, schema);
            const rows = () => eyes.unsafe(`select * from "${schema}".workflow_attempts order by attempt_id`) as Promise<Row[]>;
            await meanwhile({ name, direct, claim, deliver: proxy.deliver, isDone: look, rows });
            return true;
          } finally {
            await proxy.close();
            await close();
          }
        }
      });
    }
  });
}

async function within<T>(call: Promise<T>): Promise<T> {
  const timer = AbortSignal.timeout(PATIENCE_MS);
  return await Promise.race([call, new Promise<never>((_, reject) => timer.addEventListener("abort", () => reject(new Error("the call hangs on"))))]);
}

type Row = Record<string, unknown>;

interface Meanwhile {
  name: string;
  /** Has another way to the server. */
  direct: Queue;
  claim: Claim;
  deliver(): Promise<void>;
  isDone(): Promise<boolean>;
  rows(): Promise<Row[]>;
}

/** The same worker calls again, while what it sent first is still on its way. */
async function askAgain({ name, direct, claim, deliver, isDone, rows: look }: Meanwhile): Promise<void> {
  // But for this one: without a key nobody can tell the second from another.
  if (name === "enqueue()") {
    await deliver();
    return assert.equal((await look()).length, await isDone() ? 3 : 2);
  }
  const again = OPERATIONS[name]!.act(direct, claim).catch((error: { code?: string }) => error.code);
  // It may hold what the second one waits for.
  await deliver();
  const answer = await within(again);
  assert.ok(typeof answer !== "string" || ["lease_lost", "wrong_state"].includes(answer), String(answer));
  assert.ok(await isDone());
  const rows = await look();
  const tokens = (role: string) => rows.filter((row) => row["role"] === role).map((row) => Number(row["fencing_token"]));
  // A release and a cancel raise it once, an end not at all, whichever of the two did it.
  assert.deepEqual(tokens("held"), [Number(claim.fencingToken) + (["release()", "cancel()"].includes(name) ? 1 : 0)]);
  assert.deepEqual(tokens("free"), [name === "dequeue()" ? 1 : 0]);
  assert.ok(rows.every((row) => row["pickup_count"] === 0));
  const keys = rows.filter(({ key }) => key !== null).map(({ key }) => key);
  assert.deepEqual(keys, name === "enqueue() of a list with keys" ? ["a", "b"] : []);
}

/** Its lease runs out, and a worker of the same name has the next one when what was sent arrives. */
async function loseIt({ direct, claim, deliver, isDone, rows }: Meanwhile): Promise<void> {
  const { requeued } = await direct.reap({ staleAfterMs: 0 });
  const claimed = requeued.length === 0 ? undefined : await direct.dequeue({ roles: ["held"] });
  const next = claimed?.acquired ? claimed : undefined;
  assert.equal(next === undefined, requeued.length === 0);
  if (next) assert.deepEqual([next.attemptId, next.instanceId], [claim.attemptId, claim.instanceId]);
  const before = await rows();
  await deliver();
  // It was done before, or is held by the transaction that is stuck: not reaped, but not lost either.
  if (next === undefined) return assert.ok(await isDone());
  assert.equal(await isDone(), false);
  assert.deepEqual(await rows(), before);
  await direct.complete(next);
}
