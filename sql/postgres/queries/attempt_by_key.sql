-- name: attempt_by_key :many
--
-- The open attempt that has this key: at most one.
--
-- param: key             text
-- row:   workflow_id     id
-- row:   attempt_id      id
select cast(a.workflow_id as text) as workflow_id, cast(a.attempt_id as text) as attempt_id
from workflow_attempts as a
where a.key = cast(:key as text)
  and (a.status in ('pending', 'scheduled', 'in_progress')
       or a.status = 'failed' and a.outcome = 'worker-internal-error');
