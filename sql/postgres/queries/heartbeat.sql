-- name: heartbeat :many
--
-- Keeps leases alive, as many as wanted in one statement, and says for each, in the order given, whether it is still
-- held. Only a lease that is held is touched: same attempt, same instance, same fencing token, in_progress.
--
-- param: leases          json    array of {attempt_id, instance_id, fencing_token}
-- row:   held            bool
--
-- In this dialect: the rows are locked by id before they are changed, so that two batches never wait for each other
-- in a circle. The update is HOT: no index holds lock_heartbeat_at.
with lease as materialized (
  select position, attempt_id, instance_id, fencing_token
  from rows from (jsonb_to_recordset(cast(:leases as jsonb)) as (attempt_id bigint, instance_id text, fencing_token bigint))
       with ordinality as listed (attempt_id, instance_id, fencing_token, position)
), held as materialized (
  select asked.position, a.attempt_id
  from (select * from lease order by attempt_id) as asked
  cross join lateral (
    select a.attempt_id
    from workflow_attempts as a
    where a.attempt_id = asked.attempt_id and a.status = 'in_progress'
      and a.locked_by_instance = asked.instance_id and a.fencing_token = asked.fencing_token
    for update of a
  ) as a
), beat as (
  update workflow_attempts as a
  set lock_heartbeat_at = clock_timestamp()
  where a.attempt_id = any (array(select attempt_id from held))
)
select cast(lease.position in (select position from held) as text) as held
from lease
order by lease.position;
