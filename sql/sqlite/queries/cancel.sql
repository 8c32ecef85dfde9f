-- name: cancel :one
--
-- Ends a workflow by an operator's word: every open attempt is cancelled, the workflow is CANCELLED. Who holds one of
-- its attempts learns it at the next heartbeat.
--
-- done is false and nothing changes when there is nothing to cancel: the workflow SUCCEEDED, is CANCELLED, or FAILED
-- with no attempt left open. status says what it is, null: there is none.
--
-- param: workflow_id     id
-- row:   done            bool
-- row:   status          text?   before
--
-- In this dialect: what there was is told first; changes() says to the last statement whether an attempt was still
-- open.
begin immediate;
with workflow as (
  select workflow_id, status from workflows where workflow_id = cast(:workflow_id as integer)
)
select coalesce((select status in ('ACTIVE', 'STUCK') or status = 'FAILED' and exists (
           select 1 from workflow_attempts as a
           where a.workflow_id = workflow.workflow_id
             and (a.status in ('pending', 'scheduled', 'in_progress')
                  or a.status = 'failed' and a.outcome = 'worker-internal-error'))
         from workflow), 0) as done,
       (select status from workflow) as status;
update workflow_attempts
set status = 'cancelled', fencing_token = fencing_token + 1,
    finished_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where workflow_id = (
    select workflow_id from workflows
    where workflow_id = cast(:workflow_id as integer) and status in ('ACTIVE', 'STUCK', 'FAILED'))
  and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error');
update workflows
set status = 'CANCELLED', updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where workflow_id = cast(:workflow_id as integer)
  and (status in ('ACTIVE', 'STUCK') or status = 'FAILED' and changes() > 0);
commit;
