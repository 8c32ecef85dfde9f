// Works until nothing is left, and writes down the id of each attempt before it completes it.
import { appendFileSync } from "node:fs";
import process from "node:process";
import { args, connect, signalled, tell } from "./worker.ts";

const { roles = [], limit, journal = "" } = args;
const queue = await connect();
tell("ready");
await signalled();
for (;;) {
  const claims = limit === undefined ? [await queue.dequeue({ roles })] : await queue.dequeueMany({ roles, limit });
  let worked = false;
  for (const claim of claims) {
    if (!claim.acquired) continue;
    appendFileSync(journal, `${claim.attemptId}\n`);
    await queue.complete(claim, { outcome: "drained" });
    worked = true;
  }
  if (!worked) break;
}
tell("done");
process.exit();
