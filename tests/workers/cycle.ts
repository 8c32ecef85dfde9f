// So many lives of attempts, from the enqueue to the end; then it is idle, with its database open.
import assert from "node:assert/strict";
import process from "node:process";
import { args, connect, tell } from "./worker.ts";

const { roles = [] } = args;
const queue = await connect();
for (let life = 0; life < Number(process.argv[3]); life++) {
  await queue.enqueue({ role: roles[0]!, payload: "x".repeat(200) });
  // What the other one has enqueued, perhaps. It claims no more than it enqueued, so there is always one.
  const claim = await queue.dequeue({ roles });
  assert.ok(claim.acquired);
  await queue.heartbeat(claim);
  await queue.complete(claim);
  if (life % 100 === 0) await queue.stats();
}
tell("done");
setInterval(() => {}, 1_000);
