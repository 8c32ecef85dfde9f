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
-- In this dialect: what stands in the way is told first; each of the writes asks the same again.
begin immediate;
with exhausted as (
  select e.attempt_id, e.key
  from workflow_attempts as e
  where e.workflow_id = cast(:workflow_id as integer) and e.status = 'failed' and e.outcome = 'attempt-pickup-exhausted'
), workflow as (
  select status from workflows where workflow_id = cast(:workflow_id as integer)
), taken as (
  select e.key
  from exhausted as e
  where (select status from workflow) = 'STUCK'
    and (exists (select 1 from exhausted as twin where twin.key = e.key and twin.attempt_id <> e.attempt_id)
         or exists (
           select 1 from workflow_attempts as a
           where a.key = e.key
             and (a.status in ('pending', 'scheduled', 'in_progress')
                  or a.status = 'failed' and a.outcome = 'worker-internal-error')))
  limit 1
)
select coalesce((select status from workflow) = 'STUCK', 0) and not exists (select 1 from taken) as done,
       (select status from workflow) as status, (select key from taken) as key;
update workflow_attempts
set status = 'pending', pickup_count = 0, fencing_token = fencing_token + 1, outcome = null, finished_at = null,
    locked_by_instance = null, locked_at = null, lock_heartbeat_at = null, started_at = null
where workflow_id = (select workflow_id from workflows where workflow_id = cast(:workflow_id as integer) and status = 'STUCK')
  and status = 'failed' and outcome = 'attempt-pickup-exhausted'
  and not exists (
    with exhausted as (
      select e.attempt_id, e.key
      from workflow_attempts as e
      where e.workflow_id = cast(:workflow_id as integer) and e.status = 'failed'
        and e.outcome = 'attempt-pickup-exhausted')
    select 1
    from exhausted as e
    where exists (select 1 from exhausted as twin where twin.key = e.key and twin.attempt_id <> e.attempt_id)
       or exists (
         select 1 from workflow_attempts as a
         where a.key = e.key
           and (a.status in ('pending', 'scheduled', 'in_progress')
                or a.status = 'failed' and a.outcome = 'worker-internal-error')));
update workflows
set status = 'ACTIVE', stuck_reason = null, updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where workflow_id = cast(:workflow_id as integer) and status = 'STUCK'
  and not exists (
    select 1 from workflow_attempts as a
    where a.workflow_id = workflows.workflow_id and a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted');
commit;
