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
-- In this dialect: one write, as in dequeue: the first max_claims of each role, merged. The rows come in no order;
-- whoever reads them sorts by priority, created_at, attempt_id.
update workflow_attempts
set status = 'in_progress', fencing_token = fencing_token + 1, locked_by_instance = cast(:instance_id as text),
    locked_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    lock_heartbeat_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    started_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id in (
  select first.attempt_id
  from (select distinct value as role from json_each(:roles)) as wanted
  cross join workflow_attempts as first on first.attempt_id in (
    select a.attempt_id
    from workflow_attempts as a indexed by workflow_attempts_pending
    where a.status = 'pending' and a.role = wanted.role and coalesce(a.pickup_count, 0) < cast(:max_pickups as integer)
    order by a.priority, a.created_at, a.attempt_id
    limit cast(:max_claims as integer))
  order by first.priority, first.created_at, first.attempt_id
  limit cast(:max_claims as integer))
returning cast(attempt_id as text) as attempt_id, cast(workflow_id as text) as workflow_id, role,
          tier, priority, created_at, attempt_number, coalesce(pickup_count, 0) as pickup_count, key, payload,
          locked_by_instance as instance_id,
          cast(fencing_token as text) as fencing_token;
