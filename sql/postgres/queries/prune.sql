-- name: prune :many
--
-- Deletes workflows that ended (SUCCEEDED, FAILED or CANCELLED) and have not changed for older_than_ms, with all
-- their attempts. What is STUCK waits for an operator and stays; so does what has an attempt that is still pending,
-- scheduled or in progress, or made it STUCK, whatever somebody marked it with. The rows add up to the numbers deleted.
--
-- param: older_than_ms   ms
-- param: max_pruned      int?    how many workflows at the most; null: all
-- row:   workflows       int
-- row:   attempts        int
--
-- In this dialect: workflows are found by created_at, which is indexed and never later than updated_at; those in use
-- are left for the next time.
with old as materialized (
  select w.workflow_id
  from workflows as w, (select clock_timestamp() - cast(:older_than_ms as double precision) * interval '1 millisecond' as limit_at) as s
  where w.created_at <= s.limit_at and w.updated_at <= s.limit_at and w.status in ('SUCCEEDED', 'FAILED', 'CANCELLED')
    and not exists (
      select from workflow_attempts as a
      where a.workflow_id = w.workflow_id
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted' and w.status <> 'CANCELLED'))
  order by w.created_at, w.workflow_id
  limit cast(:max_pruned as bigint)
  for update of w skip locked
), gone_attempts as (
  delete from workflow_attempts as a where a.workflow_id = any (array(select workflow_id from old)) returning a.attempt_id
), gone_workflows as (
  delete from workflows as w where w.workflow_id = any (array(select workflow_id from old)) returning w.workflow_id
)
select cast((select count(*) from gone_workflows) as text) as workflows,
       cast((select count(*) from gone_attempts) as text) as attempts;
