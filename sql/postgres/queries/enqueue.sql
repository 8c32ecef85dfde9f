-- name: enqueue :many
--
-- Enqueues attempts, one or many at once, all or none: each makes a new ACTIVE workflow, or joins the workflow it names.
-- One row for each item of work, in the order given.
--
-- With delay_ms or run_at the attempt is scheduled, and made pending by reap when due. With a key, an attempt that is
-- still open under the same key is returned instead (created is false), also one earlier in the same list.
--
-- refusal is not_found (no workflow has this id) or workflow_closed (it is STUCK or CANCELLED): then nothing was written.
-- A finished workflow becomes ACTIVE again. An attempt_id of null without a refusal: another transaction was first with
-- the key and committed after this statement began to look; ask attempt_by_key, and if that finds none, run this again.
--
-- param: work            json    array of {role, tier, priority, payload, key, workflow_id, delay_ms, run_at}
-- row:   workflow_id     id?
-- row:   attempt_id      id?
-- row:   created         bool
-- row:   refusal         text?
--
-- In this dialect: ids come from the sequences in the order of the list, so the rows made are matched with their items by
-- rank.
with work as materialized (
  select listed.*, stamp.now,
         coalesce(stamp.now + listed.delay_ms * interval '1 millisecond', listed.due_at) as run_at,
         row_number() over (partition by listed.key order by listed.position) as turn
  from (select clock_timestamp() as now) as stamp, rows from (
    jsonb_to_recordset(cast(:work as jsonb)) as (role text, tier integer, priority integer, payload jsonb, key text,
                                                 workflow_id bigint, delay_ms bigint, run_at timestamptz)
  ) with ordinality as listed (role, tier, priority, payload, key, workflow_id, delay_ms, due_at, position)
), joined as materialized (
  select w.workflow_id, w.status
  from workflows as w
  where w.workflow_id in (select workflow_id from work)
  order by w.workflow_id
  for update
), refused as materialized (
  select work.position, case when joined.status is null then 'not_found' else 'workflow_closed' end as refusal
  from work left join joined on joined.workflow_id = work.workflow_id
  where work.workflow_id is not null and (joined.status is null or joined.status in ('STUCK', 'CANCELLED'))
), holder as materialized (
  select work.key, a.attempt_id, a.workflow_id
  from work cross join lateral (
    select a.attempt_id, a.workflow_id
    from workflow_attempts as a
    where a.key = work.key
      and (a.status in ('pending', 'scheduled', 'in_progress')
           or a.status = 'failed' and a.outcome = 'worker-internal-error')
    limit 1) as a
  where work.turn = 1
), fresh as materialized (
  select work.*, coalesce(work.workflow_id, nextval(cast('workflows_workflow_id_seq' as regclass))) as home
  from (select * from work order by position) as work
  where (work.key is null or work.turn = 1 and work.key not in (select key from holder))
    and not exists (select from refused)
), made as (
  insert into workflow_attempts as a (workflow_id, role, tier, priority, status, payload, key, run_at, created_at)
  select home, role, tier, coalesce(priority, 0), case when run_at is null then 'pending' else 'scheduled' end, payload, key,
         run_at, now
  from fresh
  order by position
  on conflict (key) where key is not null
    and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error')
  do nothing
  returning a.attempt_id, a.workflow_id, a.key
), opened as (
  insert into workflows (workflow_id)
  select workflow_id from made where workflow_id not in (select workflow_id from joined)
), reopened as (
  update workflows as w
  set status = 'ACTIVE', updated_at = clock_timestamp()
  where w.workflow_id in (select workflow_id from made intersect select workflow_id from joined)
), placed as (
  select item.position, made.attempt_id, made.workflow_id
  from (select attempt_id, workflow_id, row_number() over (order by attempt_id) as rank from made) as made
  join (select position, row_number() over (order by position) as rank
        from fresh where key is null or key in (select key from made)) as item on item.rank = made.rank
)
select cast(coalesce(placed.workflow_id, twin.workflow_id, holder.workflow_id) as text) as workflow_id,
       cast(coalesce(placed.attempt_id, twin.attempt_id, holder.attempt_id) as text) as attempt_id,
       cast(placed.attempt_id is not null as text) as created, refused.refusal
from work
left join placed on placed.position = work.position
left join made as twin on twin.key = work.key
left join holder on holder.key = work.key
left join refused on refused.position = work.position
order by work.position;
