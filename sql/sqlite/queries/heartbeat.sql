-- name: heartbeat :many
--
-- Keeps leases alive, as many as wanted in one statement, and says for each, in the order given, whether it is still
-- held. Only a lease that is held is touched: same attempt, same instance, same fencing token, in_progress.
--
-- param: leases          json    array of {attempt_id, instance_id, fencing_token}
-- row:   held            bool
--
-- In this dialect: the leases that are held are touched, then each is looked at, with no other writer in between.
begin immediate;
update workflow_attempts
set lock_heartbeat_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id in (
  select a.attempt_id
  from json_each(:leases) as lease
  cross join workflow_attempts as a on a.attempt_id = cast(json_extract(lease.value, '$.attempt_id') as integer)
  where a.status = 'in_progress' and a.locked_by_instance = json_extract(lease.value, '$.instance_id')
    and a.fencing_token = cast(json_extract(lease.value, '$.fencing_token') as integer));
select a.attempt_id is not null as held
from json_each(:leases) as lease
left join workflow_attempts as a
  on a.attempt_id = cast(json_extract(lease.value, '$.attempt_id') as integer)
  and a.status = 'in_progress' and a.locked_by_instance = json_extract(lease.value, '$.instance_id')
  and a.fencing_token = cast(json_extract(lease.value, '$.fencing_token') as integer)
order by lease.key;
commit;
