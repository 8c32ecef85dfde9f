// The network between a worker and the server, cut at the worst moments: before a statement arrives, and after it was done.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import process from "node:process";
import { after, describe, test } from "node:test";
import pg from "pg";
import postgres from "postgres";
import { type Claim, type Connection, createQueue, type Queue } from "../mod.ts";
import { eventually } from "./support/eventually.ts";

const URL_GIVEN = process.env["DATABASE_URL"];
const SOON_MS = 5_000;

const DRIVERS: Record<string, (url: string) => { connection: Connection; end(): Promise<unknown> }> = {
  "postgres.js": (url) => {
    const sql = postgres(url, { max: 1, fetch_types: false, onnotice() {} });
    return { connection: sql, end: () => sql.end({ timeout: 1 }) };
  },
  "pg Pool": (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", () => {});
    return { connection: pool, end: () => pool.end() };
  },
};

/** Each with what it needs, and what the tables say of it: done or not. */
const OPERATIONS: Record<string, { act(queue: Queue, claim: Claim): Promise<unknown>; isDone(row: Record<string, unknown>, rows: number): boolean }> = {
  "enqueue()": { act: (queue) => queue.enqueue({ role: "new" }), isDone: (_row, rows) => rows === 3 },
  "enqueue() of a list with keys": { act: (queue) => queue.enqueue([{ role: "new", key: "a" }, { role: "new", key: "b" }]), isDone: (_row, rows) => rows === 4 },
  "dequeue()": { act: (queue) => queue.dequeue({ roles: ["free"] }), isDone: (row) => row["free"] === "in_progress" },
  "complete()": { act: (queue, claim) => queue.complete(claim), isDone: (row) => row["held"] === "succeeded" },
  "fail()": { act: (queue, claim) => queue.fail(claim), isDone: (row) => row["held"] === "failed" },
  "release()": { act: (queue, claim) => queue.release(claim), isDone: (row) => row["held"] === "pending" },
  "cancel()": { act: (queue, claim) => queue.cancel(claim.workflowId), isDone: (row) => row["held"] === "cancelled" },
};

for (const [driver, open] of Object.entries(DRIVERS)) {
  describe(`${driver} · lost answers`, { skip: URL_GIVEN === undefined && "no DATABASE_URL" }, () => {
    for (const [name, { act, isDone }] of Object.entries(OPERATIONS)) {
      test(`${name} that is cut off rejects soon, and is done wholly or not at all`, async () => {
        const eyes = postgres(String(URL_GIVEN), { max: 1, onnotice() {} });
        const schema = `lost_${randomUUID()}`;
        const direct = createQueue(eyes, { schema, instanceId: "me" });
        await direct.migrate();
        const proxy = await cuttingProxy(String(URL_GIVEN));
        const { connection, end } = open(proxy.url);
        after(async () => {
          await end().catch(() => {});
          await proxy.close();
          await eyes.unsafe(`drop schema "${schema}" cascade`);
          await eyes.end();
        });
        const queue = createQueue(connection, { schema, instanceId: "me" });
        const seen = { done: 0, not: 0 };

        // Message after message of an operation: before each is passed on, and before its answer is.
        for (const place of ["request", "answer"] as const) {
          for (let message = 1; message <= 6; message++) {
            await eyes.unsafe(`delete from "${schema}".workflow_attempts`);
            await direct.enqueue({ role: "held" });
            const claim = await direct.dequeue({ roles: ["held"] }) as Claim;
            await direct.enqueue({ role: "free" });
            await queue.stats();
            proxy.cut(place, message);
            const started = performance.now();
            const failed = await act(queue, claim).then(() => false, (error) => typeof error.code === "string" ? error.code : String(error));
            assert.ok(performance.now() - started < SOON_MS, `${place} ${message}: took too long`);
            const wasCut = !proxy.spare();
            await settled(eyes, schema);
            const rows = await eyes.unsafe(`select role, status from "${schema}".workflow_attempts`);
            const row = Object.fromEntries(rows.map(({ role, status }) => [role, status]));
            const done = isDone(row, rows.length);
            if (!wasCut) {
              assert.deepEqual([failed, done], [false, true]);
              break;
            }
            assert.ok(failed, `${place} ${message}: a call that was cut off says that all is well`);
            assert.notEqual(failed, "lease_lost");
            seen[done ? "done" : "not"]++;
            await eventually(() => queue.stats());
            await recovers(name, direct, queue, claim, done);
          }
        }
        assert.ok(seen.done > 0 && seen.not > 0, JSON.stringify(seen));
      });
    }
  });
}

/** What a caller does who cannot know: it asks again, and it reaps. */
async function recovers(name: string, direct: Queue, queue: Queue, claim: Claim, done: boolean): Promise<void> {
  if (name === "complete()") {
    const again = queue.complete(claim);
    if (done) await assert.rejects(again, { code: "lease_lost" });
    else await again;
  }
  if (name === "dequeue()" && done) {
    const { requeued } = await direct.reap({ staleAfterMs: 0 });
    assert.ok(requeued.some(({ role, pickupCount }) => role === "free" && pickupCount === 1));
  }
}

/** A proxy that drops a connection at a message that is counted from a call of `cut`. */
async function cuttingProxy(server: string) {
  const target = new URL(server);
  let plan: { place: "request" | "answer"; left: number } | undefined;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const kill = () => {
      plan = undefined;
      client.destroy();
      // What it has been sent it may still do.
      upstream.end();
    };
    const pass = (to: Socket, place: "request" | "answer") => (data: Buffer) => {
      if (plan?.place === place && --plan.left === 0) return kill();
      to.write(data);
    };
    client.on("data", pass(upstream, "request")).on("close", () => upstream.end()).on("error", () => {});
    upstream.on("data", pass(client, "answer")).on("close", () => client.destroy()).on("error", () => client.destroy());
    for (const socket of [client, upstream]) sockets.add(socket);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const url = new URL(server);
  url.hostname = "127.0.0.1";
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.href,
    cut: (place: "request" | "answer", message: number) => void (plan = { place, left: message }),
    /** Whether nothing was cut; nothing will be. */
    spare: () => {
      const unused = plan !== undefined;
      plan = undefined;
      return unused;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, "close");
    },
  };
}

/** When the server has ended what the lost connection was doing. */
async function settled(eyes: postgres.Sql, schema: string): Promise<void> {
  await eventually(async () => {
    const busy = await eyes.unsafe(`select pid from pg_stat_activity where pid <> pg_backend_pid() and (state = 'active' or state like 'idle in%')
      and query like '%${schema}%'`);
    assert.equal(busy.length, 0);
  });
}
