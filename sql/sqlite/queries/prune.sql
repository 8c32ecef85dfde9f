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
-- In this dialect: attempts go first, and then the workflows that have none left: time moves between the two.
-- created_at is asked only to walk the index up to there, whatever the offset it is written with. A table that the
-- older program made without autoincrement would give the highest id again once it is deleted, so there that attempt
-- stays.
begin immediate;
delete from workflow_attempts
where workflow_id in (
    select w.workflow_id
    from workflows as w indexed by workflows_created_at
    where w.created_at < date('now', '+2 days') and w.status in ('SUCCEEDED', 'FAILED', 'CANCELLED')
      and round((julianday('now') - julianday(w.updated_at || ' ')) * 86400000) >= cast(:older_than_ms as integer)
      and not exists (
        select 1 from workflow_attempts as a
        where a.workflow_id = w.workflow_id
          and (a.status in ('pending', 'scheduled', 'in_progress')
               or a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted' and w.status <> 'CANCELLED'))
    order by w.created_at, w.workflow_id
    limit coalesce(cast(:max_pruned as integer), -1))
  and (attempt_id < (select max(attempt_id) from workflow_attempts)
       or exists (select 1 from sqlite_sequence where name = 'workflow_attempts'));
select 0 as workflows, changes() as attempts;
delete from workflows
where workflow_id in (
  select w.workflow_id
  from workflows as w indexed by workflows_created_at
  where w.created_at < date('now', '+2 days') and w.status in ('SUCCEEDED', 'FAILED', 'CANCELLED')
    and round((julianday('now') - julianday(w.updated_at || ' ')) * 86400000) >= cast(:older_than_ms as integer)
    and not exists (
      select 1 from workflow_attempts as a
      where a.workflow_id = w.workflow_id
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted' and w.status <> 'CANCELLED'))
    and not exists (select 1 from workflow_attempts as a where a.workflow_id = w.workflow_id)
  order by w.created_at, w.workflow_id
  limit coalesce(cast(:max_pruned as integer), -1));
select changes() as workflows, 0 as attempts;
commit;
