-- name: dequeue :one
--
-- Claims the first pending attempt of the listed roles, or says why there is none. First means: lowest priority
-- number, then oldest, then lowest id, across all listed roles. Always one row: a claim, or a reason and nulls.
--
-- Any number of workers may run it at once: a row is locked before it is changed, rows that others hold are passed by
-- without waiting, and no row is locked that is not taken. The claim is a lease: keep it with heartbeat, end it with
-- complete, fail or release.
--
-- reason is no_pending_eligible (nothing is pending for these roles that others are not claiming just now) or
-- pickup_limit_exceeded (something is pending, but all of it was picked up max_pickups times already).
--
-- param: roles           json    array of role names
-- param: instance_id     text    who claims: kept in locked_by_instance
-- param: max_pickups     int     attempts reaped this often are not claimed
-- row:   reason          text?
-- row:   attempt_id      id?
-- row:   workflow_id     id?
-- row:   role            text?
-- row:   tier            int?
-- row:   priority        int?
-- row:   created_at      text?   as the queue orders by it
-- row:   attempt_number  int?
-- row:   pickup_count    int?
-- row:   key             text?
-- row:   payload         json?
-- row:   instance_id     text?
-- row:   fencing_token   id?
--
-- In this dialect: two looks in one statement. The near look reads the first eight of each role without a lock,
-- merges them, and locks the first that is free: exact order, also among eight workers. The far look runs only when
-- all of these are held: role by role, in the order of their heads, the first free row, however many are held before
-- it.
--
-- The near look must never be planned as a sort of the backlog, whatever the statistics say, so it is worded to make
-- the planner expect many rows: a range from the role up to the role in place of equality, and 'pending' named a
-- hundred times. (With equality, 30,000 rows and no statistics: 9 ms instead of 0.7.) The other probes ask for one
-- row, which is never sorted for. The limit of pickups travels in a column, so that one plan serves every call:
-- planning takes longer than the claim. The lock hides its status in coalesce, to be found by id and not by the
-- pending index; the update takes its row by equality, since a join might read the whole table.
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
      limit 8
    ) as a
    order by a.priority, a.created_at, a.attempt_id
  ) as soon
  cross join lateral (
    select from workflow_attempts as a
    where a.attempt_id = soon.attempt_id and coalesce(a.status, '') = 'pending'
    for update of a skip locked
  ) as locked
  limit 1
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
  where a.attempt_id = (select attempt_id from near union all select attempt_id from far)
  returning a.*
)
select cast(null as text) as reason, cast(c.attempt_id as text) as attempt_id, cast(c.workflow_id as text) as workflow_id, c.role,
       cast(c.tier as text) as tier, cast(c.priority as text) as priority,
       to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as created_at,
       cast(c.attempt_number as text) as attempt_number, cast(c.pickup_count as text) as pickup_count, c.key,
       cast(c.payload as text) as payload, c.locked_by_instance as instance_id,
       cast(c.fencing_token as text) as fencing_token
from claimed as c
union all
select case when not exists (select from head) and exists (
              select from wanted cross join lateral (
                select from workflow_attempts as a
                where a.status = 'pending' and a.role = wanted.role
                order by a.priority, a.created_at, a.attempt_id
                limit 1) as a)
       then 'pickup_limit_exceeded' else 'no_pending_eligible' end,
       null, null, null, null, null, null, null, null, null, null, null, null
where not exists (select from claimed);
