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
-- In this dialect: two attempts of one workflow may end at the same moment, and each must see the other. So the
-- workflow's row is locked first, and if it was changed after this statement began to look (its version, xmin, is not
-- the one seen), what the statement sees of the siblings is out of date. Every completion changes that row for this
-- reason. Inside a transaction the lock stays, so that the second run is the last.
with lease as materialized (
  select a.attempt_id, a.workflow_id
  from workflow_attempts as a
  where a.attempt_id = cast(:attempt_id as bigint) and a.status = 'in_progress'
    and a.locked_by_instance = cast(:instance_id as text) and a.fencing_token = cast(:fencing_token as bigint)
), workflow as materialized (
  select w.workflow_id, w.xmin as version
  from workflows as w
  where w.workflow_id = (select workflow_id from lease)
  for update
), overtaken as materialized (
  select from workflow join workflows as seen on seen.workflow_id = workflow.workflow_id
  where seen.xmin <> workflow.version
), completed as (
  update workflow_attempts as a
  set status = 'succeeded', outcome = cast(:outcome as text), result = cast(:result as jsonb), error = null,
      finished_at = clock_timestamp()
  where a.attempt_id = cast(:attempt_id as bigint) and a.status = 'in_progress'
    and a.locked_by_instance = cast(:instance_id as text) and a.fencing_token = cast(:fencing_token as bigint)
    and not exists (select from overtaken)
  returning a.attempt_id, a.workflow_id
), followed as (
  insert into workflow_attempts as a (workflow_id, role, tier, priority, status, payload, key, run_at, created_at)
  select completed.workflow_id, n.role, n.tier, coalesce(n.priority, 0),
         case when n.delay_ms is null and n.run_at is null then 'pending' else 'scheduled' end, n.payload, n.key,
         coalesce(stamp.now + n.delay_ms * interval '1 millisecond', n.run_at), stamp.now
  from completed, (select clock_timestamp() as now) as stamp, rows from (
    jsonb_to_recordset(coalesce(cast(:next as jsonb), '[]')) as (
      role text, tier integer, priority integer, payload jsonb, key text, delay_ms double precision, run_at timestamptz)
  ) with ordinality as n (role, tier, priority, payload, key, delay_ms, run_at, position)
  order by n.position
  on conflict (key) where key is not null
    and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error')
  do nothing
  returning a.attempt_id
), settled as (
  update workflows as w
  set updated_at = clock_timestamp(), status = case
        when w.status in ('STUCK', 'CANCELLED') then w.status
        when exists (select from followed) then 'ACTIVE'
        when w.status = 'ACTIVE' and not exists (
          select from workflow_attempts as a
          where a.workflow_id = w.workflow_id and a.attempt_id <> completed.attempt_id
            and (a.status in ('pending', 'scheduled', 'in_progress')
                 or a.status = 'failed' and a.outcome = 'worker-internal-error')) then 'SUCCEEDED'
        else w.status end
  from completed
  where w.workflow_id = completed.workflow_id
)
select cast(attempt_id as text) as attempt_id, 'false' as contended from completed
union all
select cast(attempt_id as text), 'true' from lease where exists (select from overtaken);
