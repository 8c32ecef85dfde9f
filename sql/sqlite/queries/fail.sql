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
-- In this dialect: the workflow is settled while the lease is still held; then the attempt ends; changes() says to
-- the last statement whether it did.
begin immediate;
update workflows
set status = 'FAILED', updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where status in ('ACTIVE', 'SUCCEEDED') and not :retry and cast(:outcome as text) is not 'worker-internal-error'
  and workflow_id = (
    select workflow_id from workflow_attempts
    where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
      and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer));
update workflow_attempts
set status = 'failed', outcome = cast(:outcome as text), error = cast(:error as text), result = cast(:result as text),
    finished_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
  and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer)
returning cast(attempt_id as text) as attempt_id;
insert into workflow_attempts (workflow_id, role, tier, priority, status, payload, key, attempt_number, run_at, created_at,
                               pickup_count)
select workflow_id, role, coalesce(cast(:tier as integer), tier), priority,
       case when :delay_ms is null then 'pending' else 'scheduled' end, payload, key, attempt_number + 1,
       strftime('%Y-%m-%d %H:%M:%f', 'now', (cast(:delay_ms as integer) / 1000.0) || ' seconds'),
       strftime('%Y-%m-%d %H:%M:%f', 'now'), 0
from workflow_attempts
where changes() = 1 and :retry and attempt_id = cast(:attempt_id as integer);
commit;
