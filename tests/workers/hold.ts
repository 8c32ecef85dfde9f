// Claims and keeps the leases alive until the signal; then it tries everything that only a holder may do.
import process from "node:process";
import { args, attempt, connect, signalled, tell } from "./worker.ts";

const queue = await connect();
const claims = await queue.dequeueMany({ roles: args.roles ?? [], limit: args.limit ?? 1 });
tell("claimed", { claims });
const beat = setInterval(() => queue.heartbeat(claims), 50);
await signalled();
clearInterval(beat);
const answers = [];
for (const claim of claims) {
  answers.push(await attempt(queue.heartbeat(claim)));
  answers.push(await attempt(queue.release(claim)));
  answers.push(await attempt(queue.fail(claim, { outcome: "zombie" })));
  answers.push(await attempt(queue.complete(claim, { outcome: "zombie", next: [{ role: "zombie" }] })));
}
tell("tried", { answers });
process.exit();
