-- name: enqueue :many
--
-- Enqueues attempts, one or many at once, all or none: each makes a new ACTIVE workflow, or joins the workflow it
-- names. One row for each item of work, in the order given.
--
-- With delay_ms or run_at the attempt is scheduled, and made pending by reap when due. With a key, an attempt that is
-- still open under the same key is returned instead (created is false), also one earlier in the same list.
--
-- refusal is not_found (no workflow has this id) or workflow_closed (it is STUCK or CANCELLED): then nothing was
-- written; or dropped: a trigger let some rows vanish. A finished workflow becomes ACTIVE again. An attempt_id of null
-- without a refusal: another transaction was first with the key and committed after this statement began to look; ask
-- attempt_by_key, and if that finds none, run this again.
--
-- param: work            json    array of {role, tier, priority, payload, key, workflow_id, delay_ms, run_at}
-- row:   workflow_id     id?
-- row:   attempt_id      id?
-- row:   created         bool
-- row:   refusal         text?
--
-- In this dialect: a key is never raced for, since only one writes. New workflows and new attempts get consecutive
-- ids in the order of the list, so the attempts count back from the highest id of workflows, and the last statement
-- from the id inserted last. A number that attempts of another program name already is not given to a new workflow.
begin immediate;
update sqlite_sequence
set seq = (select max(workflow_id) from workflow_attempts where workflow_id < 4611686018427387904)
where name = 'workflows'
  and seq < (select max(workflow_id) from workflow_attempts where workflow_id < 4611686018427387904);
update workflows
set status = 'ACTIVE', updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where workflow_id in (
  with item as (
    select key as position, json_extract(value, '$.key') as key, json_extract(value, '$.workflow_id') as workflow_id, value,
           row_number() over (partition by json_extract(value, '$.key') order by key) as turn
    from json_each(:work)
  ), fresh as (
    select item.position, item.key, item.workflow_id, item.value
    from item
    where (item.key is null or item.turn = 1 and not exists (
        select 1 from workflow_attempts as a
        where a.key = item.key
          and (a.status in ('pending', 'scheduled', 'in_progress')
               or a.status = 'failed' and a.outcome = 'worker-internal-error')))
      and not exists (
        select 1
        from item as named left join workflows as w on w.workflow_id = cast(named.workflow_id as integer)
        where named.workflow_id is not null and coalesce(w.status, 'STUCK') in ('STUCK', 'CANCELLED'))
  )
  select cast(workflow_id as integer) from fresh where workflow_id is not null);
insert into workflows (status)
with item as (
  select key as position, json_extract(value, '$.key') as key, json_extract(value, '$.workflow_id') as workflow_id, value,
         row_number() over (partition by json_extract(value, '$.key') order by key) as turn
  from json_each(:work)
), fresh as (
  select item.position, item.key, item.workflow_id, item.value
  from item
  where (item.key is null or item.turn = 1 and not exists (
      select 1 from workflow_attempts as a
      where a.key = item.key
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'worker-internal-error')))
    and not exists (
      select 1
      from item as named left join workflows as w on w.workflow_id = cast(named.workflow_id as integer)
      where named.workflow_id is not null and coalesce(w.status, 'STUCK') in ('STUCK', 'CANCELLED'))
)
select 'ACTIVE' from fresh where workflow_id is null order by position;
insert into workflow_attempts (workflow_id, role, tier, priority, status, payload, key, run_at, created_at, pickup_count)
with item as (
  select key as position, json_extract(value, '$.key') as key, json_extract(value, '$.workflow_id') as workflow_id, value,
         row_number() over (partition by json_extract(value, '$.key') order by key) as turn
  from json_each(:work)
), fresh as (
  select item.position, item.key, item.workflow_id, item.value
  from item
  where (item.key is null or item.turn = 1 and not exists (
      select 1 from workflow_attempts as a
      where a.key = item.key
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'worker-internal-error')))
    and not exists (
      select 1
      from item as named left join workflows as w on w.workflow_id = cast(named.workflow_id as integer)
      where named.workflow_id is not null and coalesce(w.status, 'STUCK') in ('STUCK', 'CANCELLED'))
)
select coalesce(cast(workflow_id as integer),
                (select seq from sqlite_sequence where name = 'workflows') + 1
                - row_number() over (partition by workflow_id is null order by position desc)),
       json_extract(value, '$.role'), json_extract(value, '$.tier'), coalesce(json_extract(value, '$.priority'), 0),
       case when coalesce(json_extract(value, '$.delay_ms'), json_extract(value, '$.run_at')) is null
         then 'pending' else 'scheduled' end,
       nullif(value -> '$.payload', 'null'), key,
       coalesce(strftime('%Y-%m-%d %H:%M:%f', 'now', (json_extract(value, '$.delay_ms') / 1000.0) || ' seconds'),
                strftime('%Y-%m-%d %H:%M:%f', json_extract(value, '$.run_at'))),
       strftime('%Y-%m-%d %H:%M:%f', 'now'), 0
from fresh
order by position;
with item as (
  select key as position, json_extract(value, '$.key') as key, json_extract(value, '$.workflow_id') as workflow_id,
         row_number() over (partition by json_extract(value, '$.key') order by key) as turn
  from json_each(:work)
), known as (
  select item.position, item.workflow_id, a.attempt_id as holder_id, changes() > 0 and (item.key is null
           or item.turn = 1 and a.attempt_id > last_insert_rowid() - changes()) as created
  from item left join workflow_attempts as a on a.key = item.key
    and (a.status in ('pending', 'scheduled', 'in_progress')
         or a.status = 'failed' and a.outcome = 'worker-internal-error')
), placed as (
  select position, workflow_id, created, case when created
    then last_insert_rowid() + 1 - row_number() over (partition by created order by position desc)
    else holder_id end as attempt_id
  from known
)
select cast(a.workflow_id as text) as workflow_id, cast(placed.attempt_id as text) as attempt_id, placed.created,
       case when (select count(*) from placed where created) <> changes() then 'dropped'
            when placed.workflow_id is null then null
            when w.workflow_id is null then 'not_found'
            when not placed.created and w.status in ('STUCK', 'CANCELLED') then 'workflow_closed' end as refusal
from placed left join workflow_attempts as a on a.attempt_id = placed.attempt_id
left join workflows as w on w.workflow_id = cast(placed.workflow_id as integer)
order by placed.position;
commit;
