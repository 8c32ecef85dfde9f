// The loop of the README with a driver of choice; says each time what it did, or what went wrong.
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import postgres from "postgres";
import { type Connection, createQueue } from "../../mod.ts";
import { args, tell } from "./worker.ts";

export type Driver = "postgres.js" | "pg Pool" | "pg Pool, nobody listens";

const driver = process.argv[3] as Driver;
const { address, schema, roles = [] } = args;
const queue = createQueue(open(), { schema: schema!, instanceId: driver });

for (;;) {
  try {
    await queue.reap();
    const claim = await queue.dequeue({ roles });
    if (!claim.acquired) await sleep(20);
    else if (claim.payload === "hold") {
      tell("holds", { attemptId: claim.attemptId });
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    } else {
      await queue.complete(claim);
      tell("done", { attemptId: claim.attemptId });
    }
  } catch (error) {
    tell("failed", { code: (error as { code?: string }).code ?? String(error) });
    await sleep(100);
  }
}

function open(): Connection {
  // As the README says.
  if (driver === "postgres.js") return postgres(address, { max: 1, fetch_types: false, onnotice() {} });
  const pool = new pg.Pool({ connectionString: address, max: 1 });
  if (driver === "pg Pool") pool.on("error", () => {});
  return pool;
}
