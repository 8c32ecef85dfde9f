import * as check from "../arguments.ts";
import type { Backend } from "../backends/backend.ts";
import { SkiplockedError } from "../errors.ts";
import * as sql from "../sql.gen.ts";
import type { Id } from "../types.ts";

/** Lets a STUCK workflow go on; see `retry.sql`. */
export async function retry(backend: Backend, workflowId: Id): Promise<void> {
  const workflow_id = check.id("retry", "workflowId", workflowId);
  const [row] = await backend.run(sql.retry, { workflow_id });
  if (row?.done) return;
  const rule = row?.key
    ? `another attempt is open under the key ${check.show(row.key)} of one of its attempts`
    : "only a STUCK workflow can be retried";
  throw refused("retry", workflow_id, row?.status, rule);
}

/** Ends a workflow; see `cancel.sql`. */
export async function cancel(backend: Backend, workflowId: Id): Promise<void> {
  const workflow_id = check.id("cancel", "workflowId", workflowId);
  const [row] = await backend.run(sql.cancel, { workflow_id });
  if (!row?.done) throw refused("cancel", workflow_id, row?.status, "nothing of it is open");
}

function refused(action: string, workflowId: string, status: string | null | undefined, rule: string): SkiplockedError {
  return status === null || status === undefined
    ? new SkiplockedError("not_found", `Cannot ${action} workflow ${workflowId}: there is none`)
    : new SkiplockedError("wrong_state", `Cannot ${action} workflow ${workflowId}: it is ${status}, and ${rule}; nothing was changed`);
}
