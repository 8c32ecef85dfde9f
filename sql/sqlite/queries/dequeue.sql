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
-- In this dialect: one immediate write, so nobody else claims meanwhile and no row is ever held by others: the heads
-- of the listed roles are found by one index probe each, and the first of them is taken. The index is named and
-- nothing is joined, so that no statistics can choose another way. The second statement speaks only when the first
-- took nothing; then whatever is pending is over the limit.
begin immediate;
update workflow_attempts
set status = 'in_progress', fencing_token = fencing_token + 1, locked_by_instance = cast(:instance_id as text),
    locked_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    lock_heartbeat_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    started_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id = (
  select head.attempt_id
  from (
    select (select a.attempt_id
            from workflow_attempts as a indexed by workflow_attempts_pending
            where a.status = 'pending' and a.role = wanted.role
              and coalesce(a.pickup_count, 0) < cast(:max_pickups as integer)
            order by a.priority, a.created_at, a.attempt_id
            limit 1) as attempt_id
    from (select distinct value as role from json_each(:roles)) as wanted
  ) as head
  where head.attempt_id is not null
  order by (select a.priority from workflow_attempts as a where a.attempt_id = head.attempt_id),
           (select a.created_at from workflow_attempts as a where a.attempt_id = head.attempt_id), head.attempt_id
  limit 1)
returning null as reason, cast(attempt_id as text) as attempt_id, cast(workflow_id as text) as workflow_id, role,
          tier, priority, created_at, attempt_number, coalesce(pickup_count, 0) as pickup_count, key, payload,
          locked_by_instance as instance_id,
          cast(fencing_token as text) as fencing_token;
select case when exists (
         select 1
         from json_each(:roles) as wanted
         cross join workflow_attempts as a indexed by workflow_attempts_pending
           on a.status = 'pending' and a.role = wanted.value)
       then 'pickup_limit_exceeded' else 'no_pending_eligible' end as reason,
       null as attempt_id, null as workflow_id, null as role, null as tier, null as priority, null as created_at,
       null as attempt_number, null as pickup_count, null as key, null as payload, null as instance_id,
       null as fencing_token
where changes() = 0;
commit;
