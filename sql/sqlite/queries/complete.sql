-- name: complete :many
--
-- Ends a lease with success, adds the follow-up attempts of the same workflow, and brings the workflow's status up to
-- date: ACTIVE while something is open, else SUCCEEDED, unless it failed or is STUCK or CANCELLED.
--
-- Acts only while the lease is held, and then gives one row; otherwise none, and nothing changes. When contended is
-- true somebody else changed the workflow at this very moment: nothing changed, run it once more.
--
-- param: attempt_id      id
-- param: instance_id     text
-- param: fencing_token   id
-- param: outcome         text?   what came of it, in the worker's words
-- param: result          json?
-- param: next            json?   array of work as in enqueue, without workflow_id
-- row:   attempt_id      id
-- row:   contended       bool
--
-- In this dialect: with one writer at a time nothing is ever contended. While the lease is still held, the workflow
-- is settled as if nothing followed; then the attempt ends; changes() says to the next statement whether it did, and
-- to the last whether anything followed.
begin immediate;
update workflows
set updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    status = case when status = 'ACTIVE' and not exists (
        select 1 from workflow_attempts as a
        where a.workflow_id = workflows.workflow_id and a.attempt_id <> cast(:attempt_id as integer)
          and (a.status in ('pending', 'scheduled', 'in_progress')
               or a.status = 'failed' and a.outcome = 'worker-internal-error'))
      then 'SUCCEEDED' else status end
where workflow_id = (
  select workflow_id from workflow_attempts
  where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
    and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer));
update workflow_attempts
set status = 'succeeded', outcome = cast(:outcome as text), result = cast(:result as text), error = null,
    finished_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
  and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer)
returning cast(attempt_id as text) as attempt_id, 0 as contended;
insert into workflow_attempts (workflow_id, role, tier, priority, status, payload, key, run_at, created_at, pickup_count)
select done.workflow_id, json_extract(item.value, '$.role'), json_extract(item.value, '$.tier'),
       coalesce(json_extract(item.value, '$.priority'), 0),
       case when coalesce(json_extract(item.value, '$.delay_ms'), json_extract(item.value, '$.run_at')) is null
         then 'pending' else 'scheduled' end,
       nullif(item.value -> '$.payload', 'null'), json_extract(item.value, '$.key'),
       coalesce(strftime('%Y-%m-%d %H:%M:%f', 'now', (json_extract(item.value, '$.delay_ms') / 1000.0) || ' seconds'),
                strftime('%Y-%m-%d %H:%M:%f', json_extract(item.value, '$.run_at'))),
       strftime('%Y-%m-%d %H:%M:%f', 'now'), 0
from workflow_attempts as done cross join json_each(:next) as item
where changes() = 1 and done.attempt_id = cast(:attempt_id as integer)
order by item.key
on conflict (key) where key is not null
  and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error')
do nothing;
update workflows
set status = 'ACTIVE'
where changes() > 0 and status not in ('STUCK', 'CANCELLED')
  and workflow_id = (select workflow_id from workflow_attempts where attempt_id = cast(:attempt_id as integer));
commit;
