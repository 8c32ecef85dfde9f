// Does what it is told over the channel, at the instant it is told, and says what came of it.
import process from "node:process";
import postgres from "postgres";
import { createQueue, type Queue } from "../../mod.ts";
import { openSqlite } from "../../src/sqlite.ts";
import { attempt, connect, type WorkerArguments } from "./worker.ts";

export interface Order {
  id: number;
  /** Milliseconds since 1970. */
  at: number;
  operation: keyof Queue;
  args: unknown[];
  /** Another database than that of the arguments, opened for this order alone. */
  place?: Pick<WorkerArguments, "address" | "schema">;
}

export interface Answer {
  id: number;
  /** What the operation gave, or the code of its error as text. */
  value: unknown;
}

const queue = await connect();
process.on("message", async (order: Order) => {
  // Not by a timer: that is late by a millisecond or more.
  while (Date.now() < order.at);
  process.send!({ id: order.id, value: await attempt(order.place === undefined ? run(queue, order) : elsewhere(order)) } satisfies Answer);
});
process.on("disconnect", () => process.exit());
process.send!({ id: 0, value: "ready" } satisfies Answer);

function run(on: Queue, { operation, args }: Order): Promise<unknown> {
  return (on[operation] as (...args: unknown[]) => Promise<unknown>)(...args);
}

async function elsewhere(order: Order): Promise<unknown> {
  const { address, schema } = order.place!;
  if (schema === undefined) {
    const db = await openSqlite(address);
    return await run(createQueue(db), order).finally(() => db.close());
  }
  const sql = postgres(address, { max: 1 });
  return await run(createQueue(sql, { schema }), order).finally(() => sql.end());
}
