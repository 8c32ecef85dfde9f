-- name: dequeue_many :many
--
-- Claims up to max_claims pending attempts of the listed roles, in the order of the queue, as dequeue claims one. It
-- may bring fewer than max_claims while others claim, but not none while something is free.
--
-- param: roles           json    array of role names
-- param: max_claims      int     how many at the most
-- param: instance_id     text    who claims: kept in locked_by_instance
-- param: max_pickups     int     attempts reaped this often are not claimed
-- row:   attempt_id      id
-- row:   workflow_id     id
-- row:   role            text
-- row:   tier            int?
-- row:   priority        int
-- row:   created_at      text   as the queue orders by it
-- row:   attempt_number  int
-- row:   pickup_count    int
-- row:   key             text?
-- row:   payload         json?
-- row:   instance_id     text
-- row:   fencing_token   id
--
-- In this dialect: the two looks of dequeue, see there. The near one reads a little over twice as many candidates as
-- it may take, since the first of them may be held by others who claim a batch just now; the far one finds one. The
-- update takes its rows by an array, since a join might read the whole table.
with wanted as materialized (
  select distinct role, cast(:max_pickups as integer) as max_pickups
  from jsonb_array_elements_text(cast(:roles as jsonb)) as listed (role)
), near as materialized (
  select soon.attempt_id
  from (
    select a.priority, a.created_at, a.attempt_id
    from wanted cross join lateral (
      select a.priority, a.created_at, a.attempt_id
      from workflow_attempts as a
      where a.status = any (array_fill(cast('pending' as text), array[100])) and a.pickup_count < wanted.max_pickups
        and (a.role, a.priority, a.created_at, a.attempt_id) > (wanted.role, -2147483648, '-infinity', 0)
        and a.role <= wanted.role
      order by a.role, a.priority, a.created_at, a.attempt_id
      limit 2 * cast(:max_claims as bigint) + 6
    ) as a
    order by a.priority, a.created_at, a.attempt_id
  ) as soon
  cross join lateral (
    select from workflow_attempts as a
    where a.attempt_id = soon.attempt_id and coalesce(a.status, '') = 'pending'
    for update of a skip locked
  ) as locked
  limit cast(:max_claims as bigint)
), head as materialized (
  select wanted.*, a.priority, a.created_at, a.attempt_id
  from wanted cross join lateral (
    select a.priority, a.created_at, a.attempt_id
    from workflow_attempts as a
    where a.status = 'pending' and a.role = wanted.role and a.pickup_count < wanted.max_pickups
    order by a.priority, a.created_at, a.attempt_id
    limit 1
  ) as a
  where not exists (select from near)
), far as materialized (
  select a.attempt_id
  from (select role, max_pickups from head order by priority, created_at, attempt_id) as next
  cross join lateral (
    select a.attempt_id
    from workflow_attempts as a
    where a.status = 'pending' and a.role = next.role and a.pickup_count < next.max_pickups
    order by a.priority, a.created_at, a.attempt_id
    limit 1
    for update of a skip locked
  ) as a
  limit 1
), claimed as (
  update workflow_attempts as a
  set status = 'in_progress', fencing_token = a.fencing_token + 1, locked_by_instance = cast(:instance_id as text),
      locked_at = stamp.now, lock_heartbeat_at = stamp.now, started_at = stamp.now
  from (select clock_timestamp() as now) as stamp
  where a.attempt_id = any (array(select attempt_id from near union all select attempt_id from far))
  returning a.*
)
select cast(c.attempt_id as text) as attempt_id, cast(c.workflow_id as text) as workflow_id, c.role,
       cast(c.tier as text) as tier, cast(c.priority as text) as priority,
       to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as created_at,
       cast(c.attempt_number as text) as attempt_number, cast(c.pickup_count as text) as pickup_count, c.key,
       cast(c.payload as text) as payload, c.locked_by_instance as instance_id,
       cast(c.fencing_token as text) as fencing_token
from claimed as c
order by c.priority, c.created_at, c.attempt_id;
