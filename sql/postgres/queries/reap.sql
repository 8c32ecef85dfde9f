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
-- In this dialect: workflows that will be STUCK are locked before their attempts, both without waiting. The
-- conditions stand twice, the second time on the locked row, which may have moved on since it was seen. A row made
-- for a workflow that had none may take a number that the sequence has not given yet: enqueue passes by it.
with stamp as materialized (
  select clock_timestamp() as now, clock_timestamp() - cast(:stale_after_ms as double precision) * interval '1 millisecond' as limit_at
), due as materialized (
  select a.attempt_id
  from workflow_attempts as a
  where coalesce(a.status, '') = 'scheduled' and a.attempt_id = any (array(
    select s.attempt_id from workflow_attempts as s where s.status = 'scheduled' and s.run_at <= (select now from stamp)
    union all
    select s.attempt_id from workflow_attempts as s where s.status = 'scheduled' and s.run_at is null))
  order by a.attempt_id
  limit cast(:max_reaped as bigint)
  for update of a skip locked
), promoted as (
  update workflow_attempts as a set status = 'pending' where a.attempt_id = any (array(select attempt_id from due))
), silent as materialized (
  select a.attempt_id, a.workflow_id, a.pickup_count + 1 as pickup_count
  from workflow_attempts as a
  where a.status = 'in_progress'
    and coalesce(a.lock_heartbeat_at, a.locked_at, a.started_at, a.created_at) < (select limit_at from stamp)
  union all
  select a.attempt_id, a.workflow_id, a.pickup_count + 1
  from workflow_attempts as a left join workflows as w on w.workflow_id = a.workflow_id
  where a.outcome = 'worker-internal-error' and a.status = 'failed' and coalesce(w.status, 'ACTIVE') = 'ACTIVE'
  union all
  select a.attempt_id, a.workflow_id, a.pickup_count
  from workflow_attempts as a
  where a.status = 'pending' and a.pickup_count > 0 and a.pickup_count >= cast(:max_pickups as integer)
), doomed as materialized (
  select w.workflow_id
  from workflows as w
  where w.workflow_id = any (array(
    select workflow_id from silent where pickup_count >= cast(:max_pickups as integer)))
  order by w.workflow_id
  for update skip locked
), taken as materialized (
  select a.attempt_id, a.workflow_id, a.role, a.locked_by_instance, counted.pickup_count,
         counted.pickup_count >= cast(:max_pickups as integer) as stuck
  from workflow_attempts as a
  cross join lateral (select a.pickup_count + cast(a.status <> 'pending' as integer) as pickup_count) as counted
  where a.attempt_id = any (array(select attempt_id from silent))
    and (a.status = 'in_progress'
           and coalesce(a.lock_heartbeat_at, a.locked_at, a.started_at, a.created_at) < (select limit_at from stamp)
         or a.status = 'failed' and a.outcome = 'worker-internal-error'
         or a.status = 'pending' and a.pickup_count >= cast(:max_pickups as integer))
    and (counted.pickup_count < cast(:max_pickups as integer)
         or a.workflow_id in (select workflow_id from doomed)
         or not exists (select from workflows as w where w.workflow_id = a.workflow_id))
  order by a.attempt_id
  limit cast(:max_reaped as bigint)
  for update of a skip locked
), requeued as (
  update workflow_attempts as a
  set status = 'pending', pickup_count = a.pickup_count + 1, fencing_token = a.fencing_token + 1, outcome = null,
      result = null, finished_at = null, locked_by_instance = null, locked_at = null, lock_heartbeat_at = null,
      started_at = null
  where a.attempt_id = any (array(select attempt_id from taken where not stuck))
), exhausted as (
  update workflow_attempts as a
  set status = 'failed', pickup_count = a.pickup_count + cast(a.status <> 'pending' as integer),
      fencing_token = a.fencing_token + 1, outcome = 'attempt-pickup-exhausted', result = null,
      finished_at = clock_timestamp()
  where a.attempt_id = any (array(select attempt_id from taken where stuck))
), closed as (
  insert into workflows as w (workflow_id, status, stuck_reason)
  select distinct workflow_id, 'STUCK', 'attempt-pickup-exhausted' from taken where stuck order by workflow_id
  on conflict (workflow_id) do update
  set status = excluded.status, stuck_reason = excluded.stuck_reason, updated_at = clock_timestamp()
  where w.status not in ('STUCK', 'CANCELLED')
)
select cast(attempt_id as text) as attempt_id, cast(workflow_id as text) as workflow_id, role,
       cast(pickup_count as text) as pickup_count, locked_by_instance as previous_instance_id, cast(stuck as text) as stuck
from taken as t
order by t.attempt_id;
