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
-- In this dialect: the workflow is locked by a statement of its own, so that the next one sees every attempt that was
-- added until then.
begin;
select w.workflow_id from workflows as w where w.workflow_id = cast(:workflow_id as bigint) for update;
with workflow as materialized (
  select w.workflow_id, w.status from workflows as w where w.workflow_id = cast(:workflow_id as bigint)
), unfinished as materialized (
  select a.attempt_id
  from workflow_attempts as a
  where a.workflow_id = (select workflow_id from workflow where status in ('ACTIVE', 'STUCK', 'FAILED'))
    and (a.status in ('pending', 'scheduled', 'in_progress')
         or a.status = 'failed' and a.outcome = 'worker-internal-error')
  order by a.attempt_id
  for update
), cancelled as (
  update workflow_attempts as a
  set status = 'cancelled', fencing_token = a.fencing_token + 1, finished_at = clock_timestamp()
  where a.attempt_id = any (array(select attempt_id from unfinished))
), closed as (
  update workflows as w
  set status = 'CANCELLED', updated_at = clock_timestamp()
  from workflow
  where w.workflow_id = workflow.workflow_id
    and (workflow.status in ('ACTIVE', 'STUCK') or workflow.status = 'FAILED' and exists (select from unfinished))
  returning w.workflow_id
)
select cast(exists (select from closed) as text) as done, (select status from workflow) as status;
commit;
