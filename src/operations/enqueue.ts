import type { Backend } from "../backends/backend.ts";
import { SkiplockedError } from "../errors.ts";
import * as sql from "../sql.gen.ts";
import type { Enqueued, NewWork } from "../types.ts";
import { encodeWork, hasKeys } from "./work.ts";

const ACTION = "enqueue";

/** Enqueues a list of work, all or none; see `enqueue.sql`. */
export function enqueueAll(backend: Backend, given: readonly NewWork[]): Promise<Enqueued[]> {
  // Array.from sees the holes of a list, map does not. Copies: what the caller changes while we wait changes nothing here.
  const list = Array.from(given, (item) => ({ ...item }));
  const texts = Array.from(given, (item) => encodeWork(ACTION, [item], true));
  if (texts.length === 0) return Promise.resolve([]);
  // Several with keys may need a second statement, and then both must be one transaction.
  return texts.length > 1 && hasKeys(list)
    ? backend.transaction((inside) => attempt(inside, list, texts))
    : attempt(backend, list, texts);
}

// A key that others hold and give back each time we look: rare once, and so often it is no key but a trigger that drops our row.
const MAX_ROUNDS = 10;

async function attempt(backend: Backend, list: readonly NewWork[], texts: readonly string[], round = 1): Promise<Enqueued[]> {
  const rows = await backend.run(sql.enqueue, { work: `[${texts.map((text) => text.slice(1, -1)).join(",")}]` });
  rows.forEach((row, place) => refuse(row.refusal, list[place]));
  const done: Enqueued[] = [];
  for (const [place, { workflow_id, attempt_id, created }] of rows.entries()) {
    done.push(
      workflow_id !== null && attempt_id !== null
        ? { workflowId: workflow_id, attemptId: attempt_id, created }
        : await outrun(backend, list[place] as NewWork, texts[place] as string, round),
    );
  }
  return done;
}

// Another transaction had the key first, which the statement could not see yet. Now it can be seen, or it is gone already.
async function outrun(backend: Backend, item: NewWork, text: string, round: number): Promise<Enqueued> {
  if (typeof item.key !== "string" || round === MAX_ROUNDS) throw dropped();
  const [winner] = await backend.run(sql.attemptByKey, { key: item.key });
  if (winner !== undefined) return { workflowId: winner.workflow_id, attemptId: winner.attempt_id, created: false };
  const [mine] = await attempt(backend, [item], [text], round + 1);
  return mine as Enqueued;
}

function dropped(): SkiplockedError {
  const message = "Cannot enqueue: rows of workflow_attempts were dropped without an error, by a trigger or a rule on it; if it was a list, others of it may be there";
  return new SkiplockedError("schema_conflict", message);
}

function refuse(refusal: string | null, item: NewWork | undefined): void {
  if (refusal === "dropped") throw dropped();
  if (refusal === "not_found") {
    throw new SkiplockedError("not_found", `Cannot enqueue to workflow ${item?.workflowId}: there is none, nothing was enqueued`);
  }
  if (refusal === "workflow_closed") {
    const message = `Cannot enqueue to workflow ${item?.workflowId}: it is STUCK or CANCELLED, nothing was enqueued; retry it or make a new workflow`;
    throw new SkiplockedError("workflow_closed", message);
  }
}
