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
-- In this dialect: ids come from the sequences in the order of the list, so the rows made are matched with their
-- items by rank. A number that another program's rows have already is not given to new ones (unless it is beyond
-- 2^62: that far the sequences will not come), provided that the user may set the sequences: if not, they go on from
-- where they are, so that nobody's rows can stop him. No two lists are joined: how long they are is not known when the
-- plan is made, and a nested loop over 20,000 items took 80 s where this takes half a second.
with work as materialized (
  select listed.*, stamp.now, holder.attempt_id as holder_id, holder.workflow_id as holder_home,
         coalesce(stamp.now + listed.delay_ms * interval '1 millisecond', listed.due_at) as run_at,
         row_number() over (partition by listed.key order by listed.position) as turn
  from (select clock_timestamp() as now) as stamp, rows from (
    jsonb_to_recordset(cast(:work as jsonb)) as (role text, tier integer, priority integer, payload jsonb, key text,
                                                 workflow_id bigint, delay_ms double precision, run_at timestamptz)
  ) with ordinality as listed (role, tier, priority, payload, key, workflow_id, delay_ms, due_at, position)
  left join lateral (
    select a.attempt_id, a.workflow_id
    from workflow_attempts as a
    where listed.key is not null and a.key = listed.key
      and (a.status in ('pending', 'scheduled', 'in_progress')
           or a.status = 'failed' and a.outcome = 'worker-internal-error')
    limit 1
  ) as holder on true
), joined as materialized (
  select w.workflow_id, w.status
  from workflows as w
  where w.workflow_id = any (array(select distinct workflow_id from work where workflow_id is not null))
  order by w.workflow_id
  for update
), judged as materialized (
  select work.*, case
      when workflow_id is null then null
      when workflow_id not in (select workflow_id from joined) then 'not_found'
      when workflow_id in (select workflow_id from joined where status in ('STUCK', 'CANCELLED')) then 'workflow_closed'
    end as refusal
  from work
), own as materialized (
  select named.sequence, named.highest, pg_sequence_last_value(named.sequence) as given
  from (values (
      cast('workflows_workflow_id_seq' as regclass),
      greatest((select max(workflow_id) from workflow_attempts where workflow_id < 4611686018427387904),
               (select max(workflow_id) from workflows where workflow_id < 4611686018427387904))
    ), (
      cast(pg_get_serial_sequence(cast(cast('workflow_attempts' as regclass) as text), 'attempt_id') as regclass),
      (select max(attempt_id) from workflow_attempts where attempt_id < 4611686018427387904)
    )) as named (sequence, highest)
  where has_sequence_privilege(named.sequence, 'update') and has_sequence_privilege(named.sequence, 'usage, select')
), moved as materialized (
  select setval(own.sequence, greatest(own.highest, pg_sequence_last_value(own.sequence)))
  from own
  where own.highest > coalesce(own.given, 0) and own.highest < (select seqmax from pg_sequence where seqrelid = own.sequence)
), fresh as materialized (
  select judged.*, coalesce(workflow_id, nextval(cast('workflows_workflow_id_seq' as regclass))) as home
  from (select * from judged order by position) as judged
  where (key is null or turn = 1 and holder_id is null)
    and not exists (select from judged where refusal is not null) and (select count(*) from moved) >= 0
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
  where w.workflow_id = any (array(select workflow_id from joined intersect select workflow_id from made))
), ids as materialized (
  select array_agg(attempt_id order by attempt_id) as attempts, array_agg(workflow_id order by attempt_id) as homes from made
), ranked as materialized (
  select judged.*, count(*) filter (where created) over (order by position) as rank
  from (
    select judged.*, (select attempts is not null from ids)
        and (key is null or turn = 1 and key in (select key from made where key is not null)) as created
    from judged
  ) as judged
), placed as materialized (
  select position, key, created, refusal, holder_id, holder_home,
         case when created then (select attempts from ids)[rank] end as attempt_id,
         case when created then (select homes from ids)[rank] end as home
  from ranked
)
select cast(coalesce(home, max(home) over same_key, holder_home) as text) as workflow_id,
       cast(coalesce(attempt_id, max(attempt_id) over same_key, holder_id) as text) as attempt_id,
       cast(created as text) as created,
       case when (select count(*) from placed where created) <> (select cardinality(attempts) from ids) then 'dropped'
         else refusal end as refusal
from placed
window same_key as (partition by key)
order by position;
