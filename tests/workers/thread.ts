// A thread with a handle of its own: works until nothing is left, and tells what it did.
import { parentPort, workerData } from "node:worker_threads";
import { createQueue } from "../../mod.ts";
import { openSqlite } from "../../src/sqlite.ts";

const { path, hang } = workerData as { path: string; hang: boolean };
const db = await openSqlite(path, { synchronous: "NORMAL" });
const queue = createQueue(db);
for (let claim = await queue.dequeue({ roles: ["r"] }); claim.acquired; claim = await queue.dequeue({ roles: ["r"] })) {
  if (hang) {
    parentPort!.postMessage({ type: "claimed", attemptId: claim.attemptId });
    await new Promise(() => setInterval(() => {}, 1_000));
  }
  await queue.complete(claim);
  parentPort!.postMessage({ type: "done", attemptId: claim.attemptId });
}
db.close();
