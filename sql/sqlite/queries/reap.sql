-- name: reap :many
--
-- Takes back what went silent: leases without a sign of life for longer than stale_after_ms, and attempts whose
-- worker broke (failed with worker-internal-error, workflow ACTIVE). Each counts one pickup and gets a new fencing
-- token. Below max_pickups it is pending again at its old place; at max_pickups it fails with
-- attempt-pickup-exhausted and its workflow is STUCK. So does a pending attempt that another program pushed to the
-- limit. Scheduled attempts that are due become pending as well.
--
-- Any number of reapers may run at once: each attempt is counted once, and what is in use is left for the next round.
-- The last sign of life is the heartbeat, else the time of the claim, else of the start, else of creation.
--
-- param: stale_after_ms  ms
-- param: max_pickups     int
-- param: max_reaped      int?    how many at the most; null: all
-- row:   attempt_id      id
-- row:   workflow_id     id
-- row:   role            text
-- row:   pickup_count    int
-- row:   previous_instance_id  text?
-- row:   stuck           bool
--
-- In this dialect: times are compared as instants, whatever form other programs write them in; one that cannot be
-- read counts as absent (the blank keeps julianday from reading the word now; what is due is first narrowed down by
-- the index: up to two days ahead, whatever the offset, and what begins with no digit). The previous owner's name
-- stays in the row until it was returned, and is cleared at the end. A workflow numbered beyond 2^62 gets no row, or
-- the numbers would come to their end.
begin immediate;
update workflow_attempts
set status = 'pending'
where attempt_id in (
  select attempt_id
  from workflow_attempts indexed by workflow_attempts_scheduled
  where status = 'scheduled' and (run_at is null or run_at < date('now', '+2 days') or run_at >= ':')
    and coalesce(round((julianday('now') - julianday(run_at || ' ')) * 86400000), 0) >= 0
  order by attempt_id
  limit coalesce(cast(:max_reaped as integer), -1));
update workflow_attempts
set pickup_count = coalesce(pickup_count, 0) + (status <> 'pending'), fencing_token = fencing_token + 1, result = null,
    status = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer), 'pending', 'failed'),
    outcome = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer),
                  null, 'attempt-pickup-exhausted'),
    finished_at = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer),
                      null, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    locked_at = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer), null, locked_at),
    lock_heartbeat_at = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer),
                            null, lock_heartbeat_at),
    started_at = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer), null, started_at)
where attempt_id in (
  select attempt_id
  from workflow_attempts indexed by workflow_attempts_in_progress
  where status = 'in_progress'
    and round((julianday('now') - coalesce(julianday(lock_heartbeat_at || ' '), julianday(locked_at || ' '),
                                           julianday(started_at || ' '), julianday(created_at || ' '), 0)) * 86400000)
      > cast(:stale_after_ms as integer)
  union all
  select a.attempt_id
  from workflow_attempts as a left join workflows as w on w.workflow_id = a.workflow_id
  where a.outcome = 'worker-internal-error' and a.status = 'failed' and coalesce(w.status, 'ACTIVE') = 'ACTIVE'
  union all
  select attempt_id
  from workflow_attempts indexed by workflow_attempts_picked_up
  where status = 'pending' and pickup_count > 0 and pickup_count >= cast(:max_pickups as integer)
  order by attempt_id
  limit coalesce(cast(:max_reaped as integer), -1))
returning cast(attempt_id as text) as attempt_id, cast(workflow_id as text) as workflow_id, role, pickup_count,
          locked_by_instance as previous_instance_id, status = 'failed' as stuck;
insert into workflows (workflow_id, status, stuck_reason)
select distinct a.workflow_id, 'STUCK', 'attempt-pickup-exhausted'
from workflow_attempts as a left join workflows as w on w.workflow_id = a.workflow_id
where a.outcome = 'attempt-pickup-exhausted' and a.status = 'failed' and a.workflow_id < 4611686018427387904
  and coalesce(w.status, 'ACTIVE') not in ('STUCK', 'CANCELLED')
on conflict (workflow_id) do update
set status = excluded.status, stuck_reason = excluded.stuck_reason,
    updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now');
update workflow_attempts
set locked_by_instance = null
where status = 'pending' and pickup_count > 0 and locked_by_instance is not null;
commit;
