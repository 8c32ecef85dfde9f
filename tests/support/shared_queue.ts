// One of several runtimes on the same tables: `write` enqueues one for each of them and claims its own, `read` ends what others hold.
import process from "node:process";
import postgres from "postgres";
import { createQueue, type Lease, type Queue } from "../../mod.ts";
import { openSqlite } from "../../src/sqlite.ts";

/** What is done at each address, a file or a url, by whom. */
export interface Order {
  act: "write" | "read";
  /** This runtime, and all of them. */
  me: string;
  all: string[];
  payload: unknown;
  places: { address: string; schema?: string; lease?: Lease }[];
}

/** By address. */
export type Told = Record<string, { enqueued?: unknown; claims: Record<string, unknown>[] }>;

const order: Order = JSON.parse(process.argv[2] ?? "{}");
const told: Told = {};
for (const { address, schema, lease } of order.places) {
  const { queue, close } = await open(address, schema);
  told[address] = order.act === "write" ? await write(queue) : await read(queue, lease!);
  await close();
}
console.log(JSON.stringify(told));

async function write(queue: Queue): Promise<Told[string]> {
  const { me, all, payload } = order;
  const enqueued = await queue.enqueue([
    { role: `held by ${me}`, payload },
    ...all.map((reader, place) => ({ role: `${me} → ${reader} 🐘`, payload, tier: place, priority: -1 - place, key: `${me}/${reader}`, runAt: "2020-02-29T12:34:56.789Z" })),
  ]);
  // What is due becomes pending; a lease that another runtime has just begun is young, whoever looks.
  const { requeued } = await queue.reap({ staleAfterMs: 300_000 });
  return { enqueued, claims: [await queue.dequeue({ roles: [`held by ${me}`], instanceId: me }), ...requeued] as never };
}

async function read(queue: Queue, lease: Lease): Promise<Told[string]> {
  const { me, all, payload } = order;
  const claims = await queue.dequeueMany({ roles: all.map((writer) => `${writer} → ${me} 🐘`), limit: 100, instanceId: me });
  for (const claim of claims) await queue.complete(claim, { outcome: me, result: claim.payload });
  await queue.heartbeat(lease);
  await queue.fail(lease, { error: me, result: payload });
  return { claims: claims as never };
}

async function open(address: string, schema: string | undefined): Promise<{ queue: Queue; close(): unknown }> {
  if (schema === undefined) {
    const db = await openSqlite(address);
    return { queue: createQueue(db), close: () => db.close() };
  }
  const sql = postgres(address, { max: 1, onnotice() {} });
  return { queue: createQueue(sql, { schema }), close: () => sql.end() };
}
