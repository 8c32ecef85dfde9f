import type { Kind, Payload } from "./work.ts";

/** A row of workflow_attempts, as far as the checker reads it. */
export interface AttemptRow {
  id: number;
  workflowId: number;
  workflowStatus: string;
  role: string;
  status: string;
  outcome: string | null;
  n: number;
  kind: Kind;
  fails: number;
  attemptNumber: number;
  pickupCount: number;
  token: number;
  owner: string | null;
  /** What the worker that ended it wrote about itself. */
  result: { n: number; instance: string; token: string } | null;
}

/** SQL past the library. */
export type Query = (sql: string) => Promise<Record<string, unknown>[]>;

const PAGE = 20_000;

/** All rows, by id. */
export async function* readTable(query: Query): AsyncGenerator<AttemptRow> {
  for (let last = 0;;) {
    const rows = await query(`select attempt_id, workflow_id, role, status, outcome, cast(payload as text) as payload, attempt_number, pickup_count,
        fencing_token, locked_by_instance, cast(result as text) as result,
        (select w.status from workflows as w where w.workflow_id = workflow_attempts.workflow_id) as workflow
      from workflow_attempts where attempt_id > ${last} order by attempt_id limit ${PAGE}`);
    for (const row of rows) yield toRow(row);
    if (rows.length < PAGE) return;
    last = Number(rows.at(-1)!["attempt_id"]);
  }
}

function toRow(row: Record<string, unknown>): AttemptRow {
  const { n, kind, fails = 0 } = JSON.parse(String(row["payload"])) as Payload;
  return {
    id: Number(row["attempt_id"]),
    workflowId: Number(row["workflow_id"]),
    workflowStatus: String(row["workflow"]),
    role: String(row["role"]),
    status: String(row["status"]),
    outcome: row["outcome"] as string | null,
    n,
    kind,
    fails,
    attemptNumber: Number(row["attempt_number"]),
    pickupCount: Number(row["pickup_count"]),
    token: Number(row["fencing_token"]),
    owner: row["locked_by_instance"] as string | null,
    result: row["result"] === null ? null : JSON.parse(String(row["result"])),
  };
}

/**
 * Every workflow whose status is not the one that its attempts make, and what is without its other half. `reopened` are those
 * that succeeded although an attempt failed for good, which is right only if something joined them after that.
 */
export const WRONG_WORKFLOWS = `
with facts as (
  select workflow_id,
         max(case when outcome = 'attempt-pickup-exhausted' then 1 else 0 end) as stuck,
         max(case when outcome = 'doomed' then 1 else 0 end) as doomed,
         max(case when status in ('pending', 'scheduled', 'in_progress') or outcome = 'worker-internal-error' then 1 else 0 end) as is_open
  from workflow_attempts group by workflow_id
)
select f.workflow_id, w.status, f.stuck, f.doomed, f.is_open,
       case when w.status = 'SUCCEEDED' and stuck = 0 and is_open = 0 and doomed = 1 then 1 else 0 end as reopened
from facts as f left join workflows as w on w.workflow_id = f.workflow_id
where w.status is null
   or w.status <> case when stuck = 1 then 'STUCK' when doomed = 1 then 'FAILED' when is_open = 1 then 'ACTIVE' else 'SUCCEEDED' end
union all
select w.workflow_id, w.status, null, null, null, 0
from workflows as w where not exists (select 1 from workflow_attempts as a where a.workflow_id = w.workflow_id)`;
