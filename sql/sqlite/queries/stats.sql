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
--
-- In this dialect: times are read as instants, as in reap.
with stuck as (
  select count(*) as workflows from workflows where status = 'STUCK'
), per_role as (
  select role, sum(status = 'pending') as pending, sum(status = 'scheduled') as scheduled,
         sum(status = 'in_progress') as in_progress, sum(status = 'succeeded') as succeeded,
         sum(status = 'failed') as failed,
         min(iif(status = 'pending', julianday(created_at || ' '), null)) as pending_since,
         min(iif(status = 'in_progress',
                 coalesce(julianday(lock_heartbeat_at || ' '), julianday(locked_at || ' '),
                          julianday(started_at || ' '), julianday(created_at || ' ')), null)) as silent_since
  from workflow_attempts
  group by role
)
select role, coalesce(pending, 0) as pending, coalesce(scheduled, 0) as scheduled,
       coalesce(in_progress, 0) as in_progress, coalesce(succeeded, 0) as succeeded, coalesce(failed, 0) as failed,
       cast(round((julianday('now') - pending_since) * 86400000) as integer) as oldest_pending_ms,
       cast(round((julianday('now') - silent_since) * 86400000) as integer) as oldest_heartbeat_ms,
       stuck.workflows as stuck
from stuck left join per_role on true
order by role;
