-- name: fail :many
--
-- Ends a lease with failure. For good, which makes the workflow FAILED; or with a retry, a new attempt of the same
-- work with the next attempt_number; or, when the outcome is worker-internal-error, so that reap gives it another
-- pickup. The owner's name stays on the failed attempt.
--
-- Acts only while the lease is held, and then gives one row; otherwise none, and nothing changes.
--
-- param: attempt_id      id
-- param: instance_id     text
-- param: fencing_token   id
-- param: outcome         text?   what came of it, in the worker's words
-- param: error           text?   what went wrong
-- param: result          json?
-- param: retry           bool    make a new attempt
-- param: delay_ms        ms?     the new attempt is scheduled for so long from now
-- param: tier            int?    of the new attempt; null: the same
-- row:   attempt_id      id
--
-- In this dialect: the workflow's row is locked before the attempt's, as everywhere, and its status is the one that
-- the lock found: the one seen before may be out of date.
with workflow as materialized (
  select w.workflow_id, w.status
  from workflows as w
  where w.workflow_id = (
    select a.workflow_id
    from workflow_attempts as a
    where a.attempt_id = cast(:attempt_id as bigint) and a.status = 'in_progress'
      and a.locked_by_instance = cast(:instance_id as text) and a.fencing_token = cast(:fencing_token as bigint))
  for update
), failed as (
  update workflow_attempts as a
  set status = 'failed', outcome = cast(:outcome as text), error = cast(:error as text),
      result = cast(:result as jsonb), finished_at = clock_timestamp()
  where a.attempt_id = cast(:attempt_id as bigint) and a.status = 'in_progress'
    and a.locked_by_instance = cast(:instance_id as text) and a.fencing_token = cast(:fencing_token as bigint)
    and (select count(*) from workflow) >= 0
  returning a.*
), retried as (
  insert into workflow_attempts (workflow_id, role, tier, priority, status, payload, key, attempt_number, run_at, created_at)
  select workflow_id, role, coalesce(cast(:tier as integer), tier), priority,
         case when cast(:delay_ms as double precision) is null then 'pending' else 'scheduled' end, payload, key, attempt_number + 1,
         clock_timestamp() + cast(:delay_ms as double precision) * interval '1 millisecond', clock_timestamp()
  from failed
  where cast(:retry as boolean)
), settled as (
  update workflows as w
  set status = 'FAILED', updated_at = clock_timestamp()
  from failed
  where w.workflow_id = (select workflow_id from workflow where status in ('ACTIVE', 'SUCCEEDED'))
    and not cast(:retry as boolean) and failed.outcome is distinct from 'worker-internal-error'
)
select cast(attempt_id as text) as attempt_id from failed;
