import assert from "node:assert/strict";
import type { Queue } from "../../mod.ts";

/** What `live` leaves. */
export const LEFT_BY_LIFE = { workflows: 3, attempts: 5 };

/** Every operation on a queue that is new, those of several statements and refusals too. Nothing open is left at the end. */
export async function live(queue: Queue): Promise<void> {
  const roles = ["r"];
  await queue.migrate();
  assert.deepEqual(await queue.migrate(), { from: 1, to: 1 });
  const made = await queue.enqueue([{ role: "r", key: "a", payload: { n: 1.5 } }, { role: "r", key: "a" }, { role: "r", key: "b", delayMs: 0 }]);
  assert.deepEqual(made.map(({ created }) => created), [true, false, true]);
  await queue.reap();
  const claims = await queue.dequeueMany({ roles, limit: 2 });
  assert.deepEqual(claims.map(({ payload }) => payload), [{ n: 1.5 }, null]);
  const [first, second] = claims as [typeof claims[0], typeof claims[0]];
  assert.deepEqual(await queue.heartbeat([first!, second!]), [{ held: true }, { held: true }]);
  await queue.complete(first!, { outcome: "built", next: [{ role: "r" }] });
  await assert.rejects(queue.complete(first!), { code: "lease_lost" });

  await queue.fail(second!, { error: new Error("broken"), retry: { delayMs: 0 } });
  await queue.reap();
  const follower = await queue.dequeue({ roles });
  assert.ok(follower.acquired && follower.workflowId === first!.workflowId);
  await queue.release(follower);
  const [again, retried] = await queue.dequeueMany({ roles, limit: 2 });
  assert.deepEqual([again?.attemptId, retried?.attemptNumber], [follower.attemptId, 2]);
  await queue.complete(retried!);

  await queue.fail(again!, { outcome: "worker-internal-error" });
  assert.equal((await queue.reap({ maxPickups: 1 })).stuck.length, 1);
  await queue.retry(again!.workflowId);
  await queue.cancel(again!.workflowId);
  await assert.rejects(queue.retry(again!.workflowId), { code: "wrong_state" });
  await assert.rejects(queue.enqueue({ role: "r", workflowId: 4711 }), { code: "not_found" });
  const { workflowId } = await queue.enqueue({ role: "r" });
  await queue.cancel(workflowId);
  assert.deepEqual((await queue.stats()).roles.map(({ pending, inProgress, succeeded }) => [pending, inProgress, succeeded]), [[0, 0, 2]]);
}
