-- name: retry :one
--
-- An operator's word that a STUCK workflow may go on: it is ACTIVE, and its exhausted attempts are pending again with
-- a pickup_count of 0. Their fencing tokens go on rising.
--
-- done is false and nothing changes when the workflow is not STUCK (status says what it is, null: there is none), or
-- when an attempt that is open elsewhere has the key of an exhausted one (key says which).
--
-- param: workflow_id     id
-- row:   done            bool
-- row:   status          text?   before
-- row:   key             text?
--
-- In this dialect: the workflow is locked by a statement of its own, so that the next one sees every attempt that
-- became exhausted until then.
begin;
select w.workflow_id from workflows as w where w.workflow_id = cast(:workflow_id as bigint) for update;
with workflow as materialized (
  select w.workflow_id, w.status from workflows as w where w.workflow_id = cast(:workflow_id as bigint)
), exhausted as materialized (
  select a.attempt_id, a.key
  from workflow_attempts as a
  where a.workflow_id = (select workflow_id from workflow where status = 'STUCK')
    and a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted'
  order by a.attempt_id
  for update
), taken as materialized (
  select e.key
  from exhausted as e
  where exists (
      select from workflow_attempts as a
      where a.key = e.key
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'worker-internal-error'))
    or exists (select from exhausted as twin where twin.key = e.key and twin.attempt_id <> e.attempt_id)
  limit 1
), revived as (
  update workflow_attempts as a
  set status = 'pending', pickup_count = 0, fencing_token = a.fencing_token + 1, outcome = null, finished_at = null,
      locked_by_instance = null, locked_at = null, lock_heartbeat_at = null, started_at = null
  where a.attempt_id = any (array(select attempt_id from exhausted)) and not exists (select from taken)
), activated as (
  update workflows as w
  set status = 'ACTIVE', stuck_reason = null, updated_at = clock_timestamp()
  from workflow
  where w.workflow_id = workflow.workflow_id and workflow.status = 'STUCK' and not exists (select from taken)
  returning w.workflow_id
)
select cast(exists (select from activated) as text) as done, (select status from workflow) as status,
       (select key from taken) as key;
commit;
