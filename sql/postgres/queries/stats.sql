-- name: stats :many
--
-- How each role stands: how many attempts in each state, how long the oldest has been pending, how long ago the most
-- silent lease gave a sign of life; and how many workflows are STUCK, the same number in each row. One row with a
-- role of null when there are no attempts. It reads the whole table: not for every second.
--
-- row:   role                 text?
-- row:   pending              int
-- row:   scheduled            int
-- row:   in_progress          int
-- row:   succeeded            int
-- row:   failed               int
-- row:   oldest_pending_ms    ms?
-- row:   oldest_heartbeat_ms  ms?
-- row:   stuck                int
with stamp as materialized (
  select clock_timestamp() as now
), stuck as materialized (
  select count(*) as workflows from workflows where status = 'STUCK'
), per_role as materialized (
  select role, count(*) filter (where status = 'pending') as pending,
         count(*) filter (where status = 'scheduled') as scheduled,
         count(*) filter (where status = 'in_progress') as in_progress,
         count(*) filter (where status = 'succeeded') as succeeded,
         count(*) filter (where status = 'failed') as failed,
         min(created_at) filter (where status = 'pending' and isfinite(created_at)) as pending_since,
         min(sign) filter (where status = 'in_progress' and isfinite(sign)) as silent_since
  from workflow_attempts
    cross join lateral (select coalesce(lock_heartbeat_at, locked_at, started_at, created_at) as sign) as last
  group by role
)
select role, cast(coalesce(pending, 0) as text) as pending, cast(coalesce(scheduled, 0) as text) as scheduled,
       cast(coalesce(in_progress, 0) as text) as in_progress, cast(coalesce(succeeded, 0) as text) as succeeded,
       cast(coalesce(failed, 0) as text) as failed,
       cast(floor(extract(epoch from stamp.now - pending_since) * 1000.0) as text) as oldest_pending_ms,
       cast(floor(extract(epoch from stamp.now - silent_since) * 1000.0) as text) as oldest_heartbeat_ms,
       cast(stuck.workflows as text) as stuck
from stamp cross join stuck left join per_role on true
order by role;
