-- name: release :many
--
-- Hands an attempt back unharmed: pending again at its old place, not counted as a pickup. The fencing token rises,
-- so that the lease that ended here can never act again.
--
-- Acts only while the lease is held, and then gives one row; otherwise none, and nothing changes.
--
-- param: attempt_id      id
-- param: instance_id     text
-- param: fencing_token   id
-- row:   attempt_id      id
update workflow_attempts
set status = 'pending', fencing_token = fencing_token + 1, locked_by_instance = null, locked_at = null,
    lock_heartbeat_at = null, started_at = null
where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
  and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer)
returning cast(attempt_id as text) as attempt_id;
