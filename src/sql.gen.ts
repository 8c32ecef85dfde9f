// Generated from sql/ by scripts/generate.ts. Do not edit.

import type { Query, Script } from "./query.ts";

/** Parameters of {@linkcode attemptByKey}. */
export interface AttemptByKeyParams {
  key: string;
}

/** A row of {@linkcode attemptByKey}. */
export interface AttemptByKeyRow {
  workflow_id: string;
  attempt_id: string;
}

/** The open attempt that has this key: at most one. */
export const attemptByKey: Query<AttemptByKeyParams, AttemptByKeyRow> = {
  name: "attempt_by_key",
  columns: [
    ["workflow_id", "id"],
    ["attempt_id", "id"],
  ],
  postgres: [
    {
      text: `select cast(a.workflow_id as pg_catalog.text) as workflow_id, cast(a.attempt_id as pg_catalog.text) as attempt_id
from "@schema".workflow_attempts as a
where a.key = cast(cast($1 as pg_catalog.text) as pg_catalog.text)
  and (a.status in ('pending', 'scheduled', 'in_progress')
       or a.status = 'failed' and a.outcome = 'worker-internal-error')`,
      params: ["key"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `select cast(a.workflow_id as text) as workflow_id, cast(a.attempt_id as text) as attempt_id
from main.workflow_attempts as a
where a.key = cast(:key as text)
  and (a.status in ('pending', 'scheduled', 'in_progress')
       or a.status = 'failed' and a.outcome = 'worker-internal-error')`,
      params: ["key"],
      rows: true,
    },
  ],
};

/** Parameters of {@linkcode cancel}. */
export interface CancelParams {
  workflow_id: string;
}

/** A row of {@linkcode cancel}. */
export interface CancelRow {
  done: boolean;
  /** before */
  status: string | null;
}

/**
 * Ends a workflow by an operator's word: every open attempt is cancelled, the workflow is CANCELLED. Who holds one of
 * its attempts learns it at the next heartbeat.
 */
export const cancel: Query<CancelParams, CancelRow> = {
  name: "cancel",
  columns: [
    ["done", "bool"],
    ["status", "text?"],
  ],
  postgres: [
    {
      text: `select w.workflow_id from "@schema".workflows as w where w.workflow_id = cast(cast($1 as pg_catalog.text) as bigint) for update`,
      params: ["workflow_id"],
      rows: false,
    },
    {
      text: `with workflow as materialized (
  select w.workflow_id, w.status from "@schema".workflows as w where w.workflow_id = cast(cast($1 as pg_catalog.text) as bigint)
), unfinished as materialized (
  select a.attempt_id
  from "@schema".workflow_attempts as a
  where a.workflow_id = (select workflow_id from workflow where status in ('ACTIVE', 'STUCK', 'FAILED'))
    and (a.status in ('pending', 'scheduled', 'in_progress')
         or a.status = 'failed' and a.outcome = 'worker-internal-error')
  order by a.attempt_id
  for update
), cancelled as (
  update "@schema".workflow_attempts as a
  set status = 'cancelled', fencing_token = a.fencing_token + 1, finished_at = pg_catalog.clock_timestamp()
  where a.attempt_id = any (array(select attempt_id from unfinished))
), closed as (
  update "@schema".workflows as w
  set status = 'CANCELLED', updated_at = pg_catalog.clock_timestamp()
  from workflow
  where w.workflow_id = workflow.workflow_id
    and (workflow.status in ('ACTIVE', 'STUCK') or workflow.status = 'FAILED' and exists (select from unfinished))
  returning w.workflow_id
)
select cast(exists (select from closed) as pg_catalog.text) as done, (select status from workflow) as status`,
      params: ["workflow_id"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `with workflow as (
  select workflow_id, status from main.workflows where workflow_id = cast(:workflow_id as integer)
)
select coalesce((select status in ('ACTIVE', 'STUCK') or status = 'FAILED' and exists (
           select 1 from main.workflow_attempts as a
           where a.workflow_id = workflow.workflow_id
             and (a.status in ('pending', 'scheduled', 'in_progress')
                  or a.status = 'failed' and a.outcome = 'worker-internal-error'))
         from workflow), 0) as done,
       (select status from workflow) as status`,
      params: ["workflow_id"],
      rows: true,
    },
    {
      text: `update main.workflow_attempts
set status = 'cancelled', fencing_token = fencing_token + 1,
    finished_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where workflow_id = (
    select workflow_id from main.workflows
    where workflow_id = cast(:workflow_id as integer) and status in ('ACTIVE', 'STUCK', 'FAILED'))
  and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error')`,
      params: ["workflow_id"],
      rows: false,
    },
    {
      text: `update main.workflows
set status = 'CANCELLED', updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where workflow_id = cast(:workflow_id as integer)
  and (status in ('ACTIVE', 'STUCK') or status = 'FAILED' and changes() > 0)`,
      params: ["workflow_id"],
      rows: false,
    },
  ],
};

/** Parameters of {@linkcode complete}. */
export interface CompleteParams {
  attempt_id: string;
  instance_id: string;
  fencing_token: string;
  /** what came of it, in the worker's words */
  outcome: string | null;
  result: string | null;
  /** array of work as in enqueue, without workflow_id */
  next: string | null;
}

/** A row of {@linkcode complete}. */
export interface CompleteRow {
  attempt_id: string;
  contended: boolean;
}

/**
 * Ends a lease with success, adds the follow-up attempts of the same workflow, and brings the workflow's status up to
 * date: ACTIVE while something is open, else SUCCEEDED, unless it failed or is STUCK or CANCELLED.
 */
export const complete: Query<CompleteParams, CompleteRow> = {
  name: "complete",
  columns: [
    ["attempt_id", "id"],
    ["contended", "bool"],
  ],
  postgres: [
    {
      text: `with lease as materialized (
  select a.attempt_id, a.workflow_id
  from "@schema".workflow_attempts as a
  where a.attempt_id = cast(cast($1 as pg_catalog.text) as bigint) and a.status = 'in_progress'
    and a.locked_by_instance = cast(cast($2 as pg_catalog.text) as pg_catalog.text) and a.fencing_token = cast(cast($3 as pg_catalog.text) as bigint)
), workflow as materialized (
  select w.workflow_id, w.xmin as version
  from "@schema".workflows as w
  where w.workflow_id = (select workflow_id from lease)
  for update
), overtaken as materialized (
  select from workflow join "@schema".workflows as seen on seen.workflow_id = workflow.workflow_id
  where seen.xmin <> workflow.version
), completed as (
  update "@schema".workflow_attempts as a
  set status = 'succeeded', outcome = cast(cast($4 as pg_catalog.text) as pg_catalog.text), result = cast(cast($5 as pg_catalog.text) as pg_catalog.jsonb), error = null,
      finished_at = pg_catalog.clock_timestamp()
  where a.attempt_id = cast(cast($1 as pg_catalog.text) as bigint) and a.status = 'in_progress'
    and a.locked_by_instance = cast(cast($2 as pg_catalog.text) as pg_catalog.text) and a.fencing_token = cast(cast($3 as pg_catalog.text) as bigint)
    and not exists (select from overtaken)
  returning a.attempt_id, a.workflow_id
), followed as (
  insert into "@schema".workflow_attempts as a (workflow_id, role, tier, priority, status, payload, key, run_at, created_at)
  select completed.workflow_id, n.role, n.tier, coalesce(n.priority, 0),
         case when n.delay_ms is null and n.run_at is null then 'pending' else 'scheduled' end, n.payload, n.key,
         coalesce(stamp.now + n.delay_ms * interval '1 millisecond', n.run_at), stamp.now
  from completed, (select pg_catalog.clock_timestamp() as now) as stamp, rows from (
    pg_catalog.jsonb_to_recordset(coalesce(cast(cast($6 as pg_catalog.text) as pg_catalog.jsonb), '[]')) as (
      role pg_catalog.text, tier integer, priority integer, payload pg_catalog.jsonb, key pg_catalog.text, delay_ms double precision, run_at pg_catalog.timestamptz)
  ) with ordinality as n (role, tier, priority, payload, key, delay_ms, run_at, position)
  order by n.position
  on conflict (key) where key is not null
    and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error')
  do nothing
  returning a.attempt_id
), settled as (
  update "@schema".workflows as w
  set updated_at = pg_catalog.clock_timestamp(), status = case
        when w.status in ('STUCK', 'CANCELLED') then w.status
        when exists (select from followed) then 'ACTIVE'
        when w.status = 'ACTIVE' and not exists (
          select from "@schema".workflow_attempts as a
          where a.workflow_id = w.workflow_id and a.attempt_id <> completed.attempt_id
            and (a.status in ('pending', 'scheduled', 'in_progress')
                 or a.status = 'failed' and a.outcome = 'worker-internal-error')) then 'SUCCEEDED'
        else w.status end
  from completed
  where w.workflow_id = completed.workflow_id
)
select cast(attempt_id as pg_catalog.text) as attempt_id, 'false' as contended from completed
union all
select cast(attempt_id as pg_catalog.text), 'true' from lease where exists (select from overtaken)`,
      params: ["attempt_id", "instance_id", "fencing_token", "outcome", "result", "next"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `update main.workflows
set updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    status = case when status = 'ACTIVE' and not exists (
        select 1 from main.workflow_attempts as a
        where a.workflow_id = workflows.workflow_id and a.attempt_id <> cast(:attempt_id as integer)
          and (a.status in ('pending', 'scheduled', 'in_progress')
               or a.status = 'failed' and a.outcome = 'worker-internal-error'))
      then 'SUCCEEDED' else status end
where workflow_id = (
  select workflow_id from main.workflow_attempts
  where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
    and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer))`,
      params: ["attempt_id", "instance_id", "fencing_token"],
      rows: false,
    },
    {
      text: `update main.workflow_attempts
set status = 'succeeded', outcome = cast(:outcome as text), result = cast(:result as text), error = null,
    finished_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
  and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer)
returning cast(attempt_id as text) as attempt_id, 0 as contended`,
      params: ["outcome", "result", "attempt_id", "instance_id", "fencing_token"],
      rows: true,
    },
    {
      text: `insert into main.workflow_attempts (workflow_id, role, tier, priority, status, payload, key, run_at, created_at, pickup_count)
select done.workflow_id, json_extract(item.value, '$.role'), json_extract(item.value, '$.tier'),
       coalesce(json_extract(item.value, '$.priority'), 0),
       case when coalesce(json_extract(item.value, '$.delay_ms'), json_extract(item.value, '$.run_at')) is null
         then 'pending' else 'scheduled' end,
       nullif(item.value -> '$.payload', 'null'), json_extract(item.value, '$.key'),
       coalesce(strftime('%Y-%m-%d %H:%M:%f', 'now', (json_extract(item.value, '$.delay_ms') / 1000.0) || ' seconds'),
                strftime('%Y-%m-%d %H:%M:%f', json_extract(item.value, '$.run_at'))),
       strftime('%Y-%m-%d %H:%M:%f', 'now'), 0
from main.workflow_attempts as done cross join json_each(:next) as item
where changes() = 1 and done.attempt_id = cast(:attempt_id as integer)
order by item.key
on conflict (key) where key is not null
  and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error')
do nothing`,
      params: ["next", "attempt_id"],
      rows: false,
    },
    {
      text: `update main.workflows
set status = 'ACTIVE'
where changes() > 0 and status not in ('STUCK', 'CANCELLED')
  and workflow_id = (select workflow_id from main.workflow_attempts where attempt_id = cast(:attempt_id as integer))`,
      params: ["attempt_id"],
      rows: false,
    },
  ],
};

/** Parameters of {@linkcode dequeue}. */
export interface DequeueParams {
  /** array of role names */
  roles: string;
  /** who claims: kept in locked_by_instance */
  instance_id: string;
  /** attempts reaped this often are not claimed */
  max_pickups: number;
}

/** A row of {@linkcode dequeue}. */
export interface DequeueRow {
  reason: string | null;
  attempt_id: string | null;
  workflow_id: string | null;
  role: string | null;
  tier: number | null;
  priority: number | null;
  /** as the queue orders by it */
  created_at: string | null;
  attempt_number: number | null;
  pickup_count: number | null;
  key: string | null;
  payload: unknown;
  instance_id: string | null;
  fencing_token: string | null;
}

/**
 * Claims the first pending attempt of the listed roles, or says why there is none. First means: lowest priority
 * number, then oldest, then lowest id, across all listed roles. Always one row: a claim, or a reason and nulls.
 */
export const dequeue: Query<DequeueParams, DequeueRow> = {
  name: "dequeue",
  columns: [
    ["reason", "text?"],
    ["attempt_id", "id?"],
    ["workflow_id", "id?"],
    ["role", "text?"],
    ["tier", "int?"],
    ["priority", "int?"],
    ["created_at", "text?"],
    ["attempt_number", "int?"],
    ["pickup_count", "int?"],
    ["key", "text?"],
    ["payload", "json?"],
    ["instance_id", "text?"],
    ["fencing_token", "id?"],
  ],
  postgres: [
    {
      text: `with wanted as materialized (
  select distinct role, cast(cast($1 as pg_catalog.text) as integer) as max_pickups
  from pg_catalog.jsonb_array_elements_text(cast(cast($2 as pg_catalog.text) as pg_catalog.jsonb)) as listed (role)
), near as materialized (
  select soon.attempt_id
  from (
    select a.priority, a.created_at, a.attempt_id
    from wanted cross join lateral (
      select a.priority, a.created_at, a.attempt_id
      from "@schema".workflow_attempts as a
      where a.status = any (pg_catalog.array_fill(cast('pending' as pg_catalog.text), array[100])) and a.pickup_count < wanted.max_pickups
        and (a.role, a.priority, a.created_at, a.attempt_id) > (wanted.role, -2147483648, '-infinity', 0)
        and a.role <= wanted.role
      order by a.role, a.priority, a.created_at, a.attempt_id
      limit 8
    ) as a
    order by a.priority, a.created_at, a.attempt_id
  ) as soon
  cross join lateral (
    select from "@schema".workflow_attempts as a
    where a.attempt_id = soon.attempt_id and coalesce(a.status, '') = 'pending'
    for update of a skip locked
  ) as locked
  limit 1
), head as materialized (
  select wanted.*, a.priority, a.created_at, a.attempt_id
  from wanted cross join lateral (
    select a.priority, a.created_at, a.attempt_id
    from "@schema".workflow_attempts as a
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
    from "@schema".workflow_attempts as a
    where a.status = 'pending' and a.role = next.role and a.pickup_count < next.max_pickups
    order by a.priority, a.created_at, a.attempt_id
    limit 1
    for update of a skip locked
  ) as a
  limit 1
), claimed as (
  update "@schema".workflow_attempts as a
  set status = 'in_progress', fencing_token = a.fencing_token + 1, locked_by_instance = cast(cast($3 as pg_catalog.text) as pg_catalog.text),
      locked_at = stamp.now, lock_heartbeat_at = stamp.now, started_at = stamp.now
  from (select pg_catalog.clock_timestamp() as now) as stamp
  where a.attempt_id = (select attempt_id from near union all select attempt_id from far)
  returning a.*
)
select cast(null as pg_catalog.text) as reason, cast(c.attempt_id as pg_catalog.text) as attempt_id, cast(c.workflow_id as pg_catalog.text) as workflow_id, c.role,
       cast(c.tier as pg_catalog.text) as tier, cast(c.priority as pg_catalog.text) as priority,
       pg_catalog.to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as created_at,
       cast(c.attempt_number as pg_catalog.text) as attempt_number, cast(c.pickup_count as pg_catalog.text) as pickup_count, c.key,
       cast(c.payload as pg_catalog.text) as payload, c.locked_by_instance as instance_id,
       cast(c.fencing_token as pg_catalog.text) as fencing_token
from claimed as c
union all
select case when not exists (select from head) and exists (
              select from wanted cross join lateral (
                select from "@schema".workflow_attempts as a
                where a.status = 'pending' and a.role = wanted.role
                order by a.priority, a.created_at, a.attempt_id
                limit 1) as a)
       then 'pickup_limit_exceeded' else 'no_pending_eligible' end,
       null, null, null, null, null, null, null, null, null, null, null, null
where not exists (select from claimed)`,
      params: ["max_pickups", "roles", "instance_id"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `update main.workflow_attempts
set status = 'in_progress', fencing_token = fencing_token + 1, locked_by_instance = cast(:instance_id as text),
    locked_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    lock_heartbeat_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    started_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id = (
  select head.attempt_id
  from (
    select (select a.attempt_id
            from main.workflow_attempts as a indexed by workflow_attempts_pending
            where a.status = 'pending' and a.role = wanted.role
              and coalesce(a.pickup_count, 0) < cast(:max_pickups as integer)
            order by a.priority, a.created_at, a.attempt_id
            limit 1) as attempt_id
    from (select distinct value as role from json_each(:roles)) as wanted
  ) as head
  where head.attempt_id is not null
  order by (select a.priority from main.workflow_attempts as a where a.attempt_id = head.attempt_id),
           (select a.created_at from main.workflow_attempts as a where a.attempt_id = head.attempt_id), head.attempt_id
  limit 1)
returning null as reason, cast(attempt_id as text) as attempt_id, cast(workflow_id as text) as workflow_id, role,
          tier, priority, created_at, attempt_number, coalesce(pickup_count, 0) as pickup_count, key, payload,
          locked_by_instance as instance_id,
          cast(fencing_token as text) as fencing_token`,
      params: ["instance_id", "max_pickups", "roles"],
      rows: true,
    },
    {
      text: `select case when exists (
         select 1
         from json_each(:roles) as wanted
         cross join main.workflow_attempts as a indexed by workflow_attempts_pending
           on a.status = 'pending' and a.role = wanted.value)
       then 'pickup_limit_exceeded' else 'no_pending_eligible' end as reason,
       null as attempt_id, null as workflow_id, null as role, null as tier, null as priority, null as created_at,
       null as attempt_number, null as pickup_count, null as key, null as payload, null as instance_id,
       null as fencing_token
where changes() = 0`,
      params: ["roles"],
      rows: true,
    },
  ],
};

/** Parameters of {@linkcode dequeueMany}. */
export interface DequeueManyParams {
  /** array of role names */
  roles: string;
  /** how many at the most */
  max_claims: number;
  /** who claims: kept in locked_by_instance */
  instance_id: string;
  /** attempts reaped this often are not claimed */
  max_pickups: number;
}

/** A row of {@linkcode dequeueMany}. */
export interface DequeueManyRow {
  attempt_id: string;
  workflow_id: string;
  role: string;
  tier: number | null;
  priority: number;
  /** as the queue orders by it */
  created_at: string;
  attempt_number: number;
  pickup_count: number;
  key: string | null;
  payload: unknown;
  instance_id: string;
  fencing_token: string;
}

/**
 * Claims up to max_claims pending attempts of the listed roles, in the order of the queue, as dequeue claims one. It
 * may bring fewer than max_claims while others claim, but not none while something is free.
 */
export const dequeueMany: Query<DequeueManyParams, DequeueManyRow> = {
  name: "dequeue_many",
  columns: [
    ["attempt_id", "id"],
    ["workflow_id", "id"],
    ["role", "text"],
    ["tier", "int?"],
    ["priority", "int"],
    ["created_at", "text"],
    ["attempt_number", "int"],
    ["pickup_count", "int"],
    ["key", "text?"],
    ["payload", "json?"],
    ["instance_id", "text"],
    ["fencing_token", "id"],
  ],
  postgres: [
    {
      text: `with wanted as materialized (
  select distinct role, cast(cast($1 as pg_catalog.text) as integer) as max_pickups
  from pg_catalog.jsonb_array_elements_text(cast(cast($2 as pg_catalog.text) as pg_catalog.jsonb)) as listed (role)
), near as materialized (
  select soon.attempt_id
  from (
    select a.priority, a.created_at, a.attempt_id
    from wanted cross join lateral (
      select a.priority, a.created_at, a.attempt_id
      from "@schema".workflow_attempts as a
      where a.status = any (pg_catalog.array_fill(cast('pending' as pg_catalog.text), array[100])) and a.pickup_count < wanted.max_pickups
        and (a.role, a.priority, a.created_at, a.attempt_id) > (wanted.role, -2147483648, '-infinity', 0)
        and a.role <= wanted.role
      order by a.role, a.priority, a.created_at, a.attempt_id
      limit 2 * cast(cast($3 as pg_catalog.text) as bigint) + 6
    ) as a
    order by a.priority, a.created_at, a.attempt_id
  ) as soon
  cross join lateral (
    select from "@schema".workflow_attempts as a
    where a.attempt_id = soon.attempt_id and coalesce(a.status, '') = 'pending'
    for update of a skip locked
  ) as locked
  limit cast(cast($3 as pg_catalog.text) as bigint)
), head as materialized (
  select wanted.*, a.priority, a.created_at, a.attempt_id
  from wanted cross join lateral (
    select a.priority, a.created_at, a.attempt_id
    from "@schema".workflow_attempts as a
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
    from "@schema".workflow_attempts as a
    where a.status = 'pending' and a.role = next.role and a.pickup_count < next.max_pickups
    order by a.priority, a.created_at, a.attempt_id
    limit 1
    for update of a skip locked
  ) as a
  limit 1
), claimed as (
  update "@schema".workflow_attempts as a
  set status = 'in_progress', fencing_token = a.fencing_token + 1, locked_by_instance = cast(cast($4 as pg_catalog.text) as pg_catalog.text),
      locked_at = stamp.now, lock_heartbeat_at = stamp.now, started_at = stamp.now
  from (select pg_catalog.clock_timestamp() as now) as stamp
  where a.attempt_id = any (array(select attempt_id from near union all select attempt_id from far))
  returning a.*
)
select cast(c.attempt_id as pg_catalog.text) as attempt_id, cast(c.workflow_id as pg_catalog.text) as workflow_id, c.role,
       cast(c.tier as pg_catalog.text) as tier, cast(c.priority as pg_catalog.text) as priority,
       pg_catalog.to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as created_at,
       cast(c.attempt_number as pg_catalog.text) as attempt_number, cast(c.pickup_count as pg_catalog.text) as pickup_count, c.key,
       cast(c.payload as pg_catalog.text) as payload, c.locked_by_instance as instance_id,
       cast(c.fencing_token as pg_catalog.text) as fencing_token
from claimed as c
order by c.priority, c.created_at, c.attempt_id`,
      params: ["max_pickups", "roles", "max_claims", "instance_id"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `update main.workflow_attempts
set status = 'in_progress', fencing_token = fencing_token + 1, locked_by_instance = cast(:instance_id as text),
    locked_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    lock_heartbeat_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    started_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id in (
  select first.attempt_id
  from (select distinct value as role from json_each(:roles)) as wanted
  cross join main.workflow_attempts as first on first.attempt_id in (
    select a.attempt_id
    from main.workflow_attempts as a indexed by workflow_attempts_pending
    where a.status = 'pending' and a.role = wanted.role and coalesce(a.pickup_count, 0) < cast(:max_pickups as integer)
    order by a.priority, a.created_at, a.attempt_id
    limit cast(:max_claims as integer))
  order by first.priority, first.created_at, first.attempt_id
  limit cast(:max_claims as integer))
returning cast(attempt_id as text) as attempt_id, cast(workflow_id as text) as workflow_id, role,
          tier, priority, created_at, attempt_number, coalesce(pickup_count, 0) as pickup_count, key, payload,
          locked_by_instance as instance_id,
          cast(fencing_token as text) as fencing_token`,
      params: ["instance_id", "roles", "max_pickups", "max_claims"],
      rows: true,
    },
  ],
};

/** Parameters of {@linkcode enqueue}. */
export interface EnqueueParams {
  /** array of {role, tier, priority, payload, key, workflow_id, delay_ms, run_at} */
  work: string;
}

/** A row of {@linkcode enqueue}. */
export interface EnqueueRow {
  workflow_id: string | null;
  attempt_id: string | null;
  created: boolean;
  refusal: string | null;
}

/**
 * Enqueues attempts, one or many at once, all or none: each makes a new ACTIVE workflow, or joins the workflow it
 * names. One row for each item of work, in the order given.
 */
export const enqueue: Query<EnqueueParams, EnqueueRow> = {
  name: "enqueue",
  columns: [
    ["workflow_id", "id?"],
    ["attempt_id", "id?"],
    ["created", "bool"],
    ["refusal", "text?"],
  ],
  postgres: [
    {
      text: `with work as materialized (
  select listed.*, stamp.now, holder.attempt_id as holder_id, holder.workflow_id as holder_home,
         coalesce(stamp.now + listed.delay_ms * interval '1 millisecond', listed.due_at) as run_at,
         pg_catalog.row_number() over (partition by listed.key order by listed.position) as turn
  from (select pg_catalog.clock_timestamp() as now) as stamp, rows from (
    pg_catalog.jsonb_to_recordset(cast(cast($1 as pg_catalog.text) as pg_catalog.jsonb)) as (role pg_catalog.text, tier integer, priority integer, payload pg_catalog.jsonb, key pg_catalog.text,
                                                 workflow_id bigint, delay_ms double precision, run_at pg_catalog.timestamptz)
  ) with ordinality as listed (role, tier, priority, payload, key, workflow_id, delay_ms, due_at, position)
  left join lateral (
    select a.attempt_id, a.workflow_id
    from "@schema".workflow_attempts as a
    where listed.key is not null and a.key = listed.key
      and (a.status in ('pending', 'scheduled', 'in_progress')
           or a.status = 'failed' and a.outcome = 'worker-internal-error')
    limit 1
  ) as holder on true
), joined as materialized (
  select w.workflow_id, w.status
  from "@schema".workflows as w
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
  select named.sequence, named.highest, pg_catalog.pg_sequence_last_value(named.sequence) as given
  from (values (
      cast(E'"@schema-literal".workflows_workflow_id_seq' as pg_catalog.regclass),
      greatest((select pg_catalog.max(workflow_id) from "@schema".workflow_attempts where workflow_id < 4611686018427387904),
               (select pg_catalog.max(workflow_id) from "@schema".workflows where workflow_id < 4611686018427387904))
    ), (
      cast(pg_catalog.pg_get_serial_sequence(cast(cast(E'"@schema-literal".workflow_attempts' as pg_catalog.regclass) as pg_catalog.text), 'attempt_id') as pg_catalog.regclass),
      (select pg_catalog.max(attempt_id) from "@schema".workflow_attempts where attempt_id < 4611686018427387904)
    )) as named (sequence, highest)
  where pg_catalog.has_sequence_privilege(named.sequence, 'update') and pg_catalog.has_sequence_privilege(named.sequence, 'usage, select')
), moved as materialized (
  select pg_catalog.setval(own.sequence, greatest(own.highest, pg_catalog.pg_sequence_last_value(own.sequence)))
  from own
  where own.highest > coalesce(own.given, 0) and own.highest < (select seqmax from pg_sequence where seqrelid = own.sequence)
), fresh as materialized (
  select judged.*, coalesce(workflow_id, pg_catalog.nextval(cast(E'"@schema-literal".workflows_workflow_id_seq' as pg_catalog.regclass))) as home
  from (select * from judged order by position) as judged
  where (key is null or turn = 1 and holder_id is null)
    and not exists (select from judged where refusal is not null) and (select pg_catalog.count(*) from moved) >= 0
), made as (
  insert into "@schema".workflow_attempts as a (workflow_id, role, tier, priority, status, payload, key, run_at, created_at)
  select home, role, tier, coalesce(priority, 0), case when run_at is null then 'pending' else 'scheduled' end, payload, key,
         run_at, now
  from fresh
  order by position
  on conflict (key) where key is not null
    and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error')
  do nothing
  returning a.attempt_id, a.workflow_id, a.key
), opened as (
  insert into "@schema".workflows (workflow_id)
  select workflow_id from made where workflow_id not in (select workflow_id from joined)
), reopened as (
  update "@schema".workflows as w
  set status = 'ACTIVE', updated_at = pg_catalog.clock_timestamp()
  where w.workflow_id = any (array(select workflow_id from joined intersect select workflow_id from made))
), ids as materialized (
  select pg_catalog.array_agg(attempt_id order by attempt_id) as attempts, pg_catalog.array_agg(workflow_id order by attempt_id) as homes from made
), ranked as materialized (
  select judged.*, pg_catalog.count(*) filter (where created) over (order by position) as rank
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
select cast(coalesce(home, pg_catalog.max(home) over same_key, holder_home) as pg_catalog.text) as workflow_id,
       cast(coalesce(attempt_id, pg_catalog.max(attempt_id) over same_key, holder_id) as pg_catalog.text) as attempt_id,
       cast(created as pg_catalog.text) as created,
       case when (select pg_catalog.count(*) from placed where created) <> (select pg_catalog.cardinality(attempts) from ids) then 'dropped'
         else refusal end as refusal
from placed
window same_key as (partition by key)
order by position`,
      params: ["work"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `update main.sqlite_sequence
set seq = (select max(workflow_id) from main.workflow_attempts where workflow_id < 4611686018427387904)
where name = 'workflows'
  and seq < (select max(workflow_id) from main.workflow_attempts where workflow_id < 4611686018427387904)`,
      params: [],
      rows: false,
    },
    {
      text: `update main.workflows
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
        select 1 from main.workflow_attempts as a
        where a.key = item.key
          and (a.status in ('pending', 'scheduled', 'in_progress')
               or a.status = 'failed' and a.outcome = 'worker-internal-error')))
      and not exists (
        select 1
        from item as named left join main.workflows as w on w.workflow_id = cast(named.workflow_id as integer)
        where named.workflow_id is not null and coalesce(w.status, 'STUCK') in ('STUCK', 'CANCELLED'))
  )
  select cast(workflow_id as integer) from fresh where workflow_id is not null)`,
      params: ["work"],
      rows: false,
    },
    {
      text: `insert into main.workflows (status)
with item as (
  select key as position, json_extract(value, '$.key') as key, json_extract(value, '$.workflow_id') as workflow_id, value,
         row_number() over (partition by json_extract(value, '$.key') order by key) as turn
  from json_each(:work)
), fresh as (
  select item.position, item.key, item.workflow_id, item.value
  from item
  where (item.key is null or item.turn = 1 and not exists (
      select 1 from main.workflow_attempts as a
      where a.key = item.key
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'worker-internal-error')))
    and not exists (
      select 1
      from item as named left join main.workflows as w on w.workflow_id = cast(named.workflow_id as integer)
      where named.workflow_id is not null and coalesce(w.status, 'STUCK') in ('STUCK', 'CANCELLED'))
)
select 'ACTIVE' from fresh where workflow_id is null order by position`,
      params: ["work"],
      rows: false,
    },
    {
      text: `insert into main.workflow_attempts (workflow_id, role, tier, priority, status, payload, key, run_at, created_at, pickup_count)
with item as (
  select key as position, json_extract(value, '$.key') as key, json_extract(value, '$.workflow_id') as workflow_id, value,
         row_number() over (partition by json_extract(value, '$.key') order by key) as turn
  from json_each(:work)
), fresh as (
  select item.position, item.key, item.workflow_id, item.value
  from item
  where (item.key is null or item.turn = 1 and not exists (
      select 1 from main.workflow_attempts as a
      where a.key = item.key
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'worker-internal-error')))
    and not exists (
      select 1
      from item as named left join main.workflows as w on w.workflow_id = cast(named.workflow_id as integer)
      where named.workflow_id is not null and coalesce(w.status, 'STUCK') in ('STUCK', 'CANCELLED'))
)
select coalesce(cast(workflow_id as integer),
                (select seq from main.sqlite_sequence where name = 'workflows') + 1
                - row_number() over (partition by workflow_id is null order by position desc)),
       json_extract(value, '$.role'), json_extract(value, '$.tier'), coalesce(json_extract(value, '$.priority'), 0),
       case when coalesce(json_extract(value, '$.delay_ms'), json_extract(value, '$.run_at')) is null
         then 'pending' else 'scheduled' end,
       nullif(value -> '$.payload', 'null'), key,
       coalesce(strftime('%Y-%m-%d %H:%M:%f', 'now', (json_extract(value, '$.delay_ms') / 1000.0) || ' seconds'),
                strftime('%Y-%m-%d %H:%M:%f', json_extract(value, '$.run_at'))),
       strftime('%Y-%m-%d %H:%M:%f', 'now'), 0
from fresh
order by position`,
      params: ["work"],
      rows: false,
    },
    {
      text: `with item as (
  select key as position, json_extract(value, '$.key') as key, json_extract(value, '$.workflow_id') as workflow_id,
         row_number() over (partition by json_extract(value, '$.key') order by key) as turn
  from json_each(:work)
), known as (
  select item.position, item.workflow_id, a.attempt_id as holder_id, changes() > 0 and (item.key is null
           or item.turn = 1 and a.attempt_id > last_insert_rowid() - changes()) as created
  from item left join main.workflow_attempts as a on a.key = item.key
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
from placed left join main.workflow_attempts as a on a.attempt_id = placed.attempt_id
left join main.workflows as w on w.workflow_id = cast(placed.workflow_id as integer)
order by placed.position`,
      params: ["work"],
      rows: true,
    },
  ],
};

/** Parameters of {@linkcode fail}. */
export interface FailParams {
  attempt_id: string;
  instance_id: string;
  fencing_token: string;
  /** what came of it, in the worker's words */
  outcome: string | null;
  /** what went wrong */
  error: string | null;
  result: string | null;
  /** make a new attempt */
  retry: boolean;
  /** the new attempt is scheduled for so long from now */
  delay_ms: number | null;
  /** of the new attempt; null: the same */
  tier: number | null;
}

/** A row of {@linkcode fail}. */
export interface FailRow {
  attempt_id: string;
}

/**
 * Ends a lease with failure. For good, which makes the workflow FAILED; or with a retry, a new attempt of the same
 * work with the next attempt_number; or, when the outcome is worker-internal-error, so that reap gives it another
 * pickup. The owner's name stays on the failed attempt.
 */
export const fail: Query<FailParams, FailRow> = {
  name: "fail",
  columns: [
    ["attempt_id", "id"],
  ],
  postgres: [
    {
      text: `with workflow as materialized (
  select w.workflow_id, w.status
  from "@schema".workflows as w
  where w.workflow_id = (
    select a.workflow_id
    from "@schema".workflow_attempts as a
    where a.attempt_id = cast(cast($1 as pg_catalog.text) as bigint) and a.status = 'in_progress'
      and a.locked_by_instance = cast(cast($2 as pg_catalog.text) as pg_catalog.text) and a.fencing_token = cast(cast($3 as pg_catalog.text) as bigint))
  for update
), failed as (
  update "@schema".workflow_attempts as a
  set status = 'failed', outcome = cast(cast($4 as pg_catalog.text) as pg_catalog.text), error = cast(cast($5 as pg_catalog.text) as pg_catalog.text),
      result = cast(cast($6 as pg_catalog.text) as pg_catalog.jsonb), finished_at = pg_catalog.clock_timestamp()
  where a.attempt_id = cast(cast($1 as pg_catalog.text) as bigint) and a.status = 'in_progress'
    and a.locked_by_instance = cast(cast($2 as pg_catalog.text) as pg_catalog.text) and a.fencing_token = cast(cast($3 as pg_catalog.text) as bigint)
    and (select pg_catalog.count(*) from workflow) >= 0
  returning a.*
), retried as (
  insert into "@schema".workflow_attempts (workflow_id, role, tier, priority, status, payload, key, attempt_number, run_at, created_at)
  select workflow_id, role, coalesce(cast(cast($7 as pg_catalog.text) as integer), tier), priority,
         case when cast(cast($8 as pg_catalog.text) as double precision) is null then 'pending' else 'scheduled' end, payload, key, attempt_number + 1,
         pg_catalog.clock_timestamp() + cast(cast($8 as pg_catalog.text) as double precision) * interval '1 millisecond', pg_catalog.clock_timestamp()
  from failed
  where cast(cast($9 as pg_catalog.text) as boolean)
), settled as (
  update "@schema".workflows as w
  set status = 'FAILED', updated_at = pg_catalog.clock_timestamp()
  from failed
  where w.workflow_id = (select workflow_id from workflow where status in ('ACTIVE', 'SUCCEEDED'))
    and not cast(cast($9 as pg_catalog.text) as boolean) and failed.outcome is distinct from 'worker-internal-error'
)
select cast(attempt_id as pg_catalog.text) as attempt_id from failed`,
      params: ["attempt_id", "instance_id", "fencing_token", "outcome", "error", "result", "tier", "delay_ms", "retry"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `update main.workflows
set status = 'FAILED', updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where status in ('ACTIVE', 'SUCCEEDED') and not :retry and cast(:outcome as text) is not 'worker-internal-error'
  and workflow_id = (
    select workflow_id from main.workflow_attempts
    where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
      and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer))`,
      params: ["retry", "outcome", "attempt_id", "instance_id", "fencing_token"],
      rows: false,
    },
    {
      text: `update main.workflow_attempts
set status = 'failed', outcome = cast(:outcome as text), error = cast(:error as text), result = cast(:result as text),
    finished_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
  and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer)
returning cast(attempt_id as text) as attempt_id`,
      params: ["outcome", "error", "result", "attempt_id", "instance_id", "fencing_token"],
      rows: true,
    },
    {
      text: `insert into main.workflow_attempts (workflow_id, role, tier, priority, status, payload, key, attempt_number, run_at, created_at,
                               pickup_count)
select workflow_id, role, coalesce(cast(:tier as integer), tier), priority,
       case when :delay_ms is null then 'pending' else 'scheduled' end, payload, key, attempt_number + 1,
       strftime('%Y-%m-%d %H:%M:%f', 'now', (cast(:delay_ms as integer) / 1000.0) || ' seconds'),
       strftime('%Y-%m-%d %H:%M:%f', 'now'), 0
from main.workflow_attempts
where changes() = 1 and :retry and attempt_id = cast(:attempt_id as integer)`,
      params: ["tier", "delay_ms", "retry", "attempt_id"],
      rows: false,
    },
  ],
};

/** Parameters of {@linkcode heartbeat}. */
export interface HeartbeatParams {
  /** array of {attempt_id, instance_id, fencing_token} */
  leases: string;
}

/** A row of {@linkcode heartbeat}. */
export interface HeartbeatRow {
  held: boolean;
}

/**
 * Keeps leases alive, as many as wanted in one statement, and says for each, in the order given, whether it is still
 * held. Only a lease that is held is touched: same attempt, same instance, same fencing token, in_progress.
 */
export const heartbeat: Query<HeartbeatParams, HeartbeatRow> = {
  name: "heartbeat",
  columns: [
    ["held", "bool"],
  ],
  postgres: [
    {
      text: `with lease as materialized (
  select position, attempt_id, instance_id, fencing_token
  from rows from (pg_catalog.jsonb_to_recordset(cast(cast($1 as pg_catalog.text) as pg_catalog.jsonb)) as (attempt_id bigint, instance_id pg_catalog.text, fencing_token bigint))
       with ordinality as listed (attempt_id, instance_id, fencing_token, position)
), held as materialized (
  select asked.position, a.attempt_id
  from (select * from lease order by attempt_id) as asked
  cross join lateral (
    select a.attempt_id
    from "@schema".workflow_attempts as a
    where a.attempt_id = asked.attempt_id and a.status = 'in_progress'
      and a.locked_by_instance = asked.instance_id and a.fencing_token = asked.fencing_token
    for update of a
  ) as a
), beat as (
  update "@schema".workflow_attempts as a
  set lock_heartbeat_at = pg_catalog.clock_timestamp()
  where a.attempt_id = any (array(select attempt_id from held))
)
select cast(lease.position in (select position from held) as pg_catalog.text) as held
from lease
order by lease.position`,
      params: ["leases"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `update main.workflow_attempts
set lock_heartbeat_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where attempt_id in (
  select a.attempt_id
  from json_each(:leases) as lease
  cross join main.workflow_attempts as a on a.attempt_id = cast(json_extract(lease.value, '$.attempt_id') as integer)
  where a.status = 'in_progress' and a.locked_by_instance = json_extract(lease.value, '$.instance_id')
    and a.fencing_token = cast(json_extract(lease.value, '$.fencing_token') as integer))`,
      params: ["leases"],
      rows: false,
    },
    {
      text: `select a.attempt_id is not null as held
from json_each(:leases) as lease
left join main.workflow_attempts as a
  on a.attempt_id = cast(json_extract(lease.value, '$.attempt_id') as integer)
  and a.status = 'in_progress' and a.locked_by_instance = json_extract(lease.value, '$.instance_id')
  and a.fencing_token = cast(json_extract(lease.value, '$.fencing_token') as integer)
order by lease.key`,
      params: ["leases"],
      rows: true,
    },
  ],
};

/** Parameters of {@linkcode prune}. */
export interface PruneParams {
  older_than_ms: number;
  /** how many workflows at the most; null: all */
  max_pruned: number | null;
}

/** A row of {@linkcode prune}. */
export interface PruneRow {
  workflows: number;
  attempts: number;
}

/**
 * Deletes workflows that ended (SUCCEEDED, FAILED or CANCELLED) and have not changed for older_than_ms, with all
 * their attempts. What is STUCK waits for an operator and stays; so does what has an attempt that is still pending,
 * scheduled or in progress, or made it STUCK, whatever somebody marked it with. The rows add up to the numbers deleted.
 */
export const prune: Query<PruneParams, PruneRow> = {
  name: "prune",
  columns: [
    ["workflows", "int"],
    ["attempts", "int"],
  ],
  postgres: [
    {
      text: `with old as materialized (
  select w.workflow_id
  from "@schema".workflows as w, (select pg_catalog.clock_timestamp() - cast(cast($1 as pg_catalog.text) as double precision) * interval '1 millisecond' as limit_at) as s
  where w.created_at <= s.limit_at and w.updated_at <= s.limit_at and w.status in ('SUCCEEDED', 'FAILED', 'CANCELLED')
    and not exists (
      select from "@schema".workflow_attempts as a
      where a.workflow_id = w.workflow_id
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted' and w.status <> 'CANCELLED'))
  order by w.created_at, w.workflow_id
  limit cast(cast($2 as pg_catalog.text) as bigint)
  for update of w skip locked
), gone_attempts as (
  delete from "@schema".workflow_attempts as a where a.workflow_id = any (array(select workflow_id from old)) returning a.attempt_id
), gone_workflows as (
  delete from "@schema".workflows as w where w.workflow_id = any (array(select workflow_id from old)) returning w.workflow_id
)
select cast((select pg_catalog.count(*) from gone_workflows) as pg_catalog.text) as workflows,
       cast((select pg_catalog.count(*) from gone_attempts) as pg_catalog.text) as attempts`,
      params: ["older_than_ms", "max_pruned"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `delete from main.workflow_attempts
where workflow_id in (
    select w.workflow_id
    from main.workflows as w indexed by workflows_created_at
    where w.created_at < date('now', '+2 days') and w.status in ('SUCCEEDED', 'FAILED', 'CANCELLED')
      and round((julianday('now') - julianday(w.updated_at || ' ')) * 86400000) >= cast(:older_than_ms as integer)
      and not exists (
        select 1 from main.workflow_attempts as a
        where a.workflow_id = w.workflow_id
          and (a.status in ('pending', 'scheduled', 'in_progress')
               or a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted' and w.status <> 'CANCELLED'))
    order by w.created_at, w.workflow_id
    limit coalesce(cast(:max_pruned as integer), -1))
  and (attempt_id < (select max(attempt_id) from main.workflow_attempts)
       or exists (select 1 from main.sqlite_sequence where name = 'workflow_attempts'))`,
      params: ["older_than_ms", "max_pruned"],
      rows: false,
    },
    {
      text: `select 0 as workflows, changes() as attempts`,
      params: [],
      rows: true,
    },
    {
      text: `delete from main.workflows
where workflow_id in (
  select w.workflow_id
  from main.workflows as w indexed by workflows_created_at
  where w.created_at < date('now', '+2 days') and w.status in ('SUCCEEDED', 'FAILED', 'CANCELLED')
    and round((julianday('now') - julianday(w.updated_at || ' ')) * 86400000) >= cast(:older_than_ms as integer)
    and not exists (
      select 1 from main.workflow_attempts as a
      where a.workflow_id = w.workflow_id
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted' and w.status <> 'CANCELLED'))
    and not exists (select 1 from main.workflow_attempts as a where a.workflow_id = w.workflow_id)
  order by w.created_at, w.workflow_id
  limit coalesce(cast(:max_pruned as integer), -1))`,
      params: ["older_than_ms", "max_pruned"],
      rows: false,
    },
    {
      text: `select changes() as workflows, 0 as attempts`,
      params: [],
      rows: true,
    },
  ],
};

/** Parameters of {@linkcode reap}. */
export interface ReapParams {
  stale_after_ms: number;
  max_pickups: number;
  /** how many at the most; null: all */
  max_reaped: number | null;
}

/** A row of {@linkcode reap}. */
export interface ReapRow {
  attempt_id: string;
  workflow_id: string;
  role: string;
  pickup_count: number;
  previous_instance_id: string | null;
  stuck: boolean;
}

/**
 * Takes back what went silent: leases without a sign of life for longer than stale_after_ms, and attempts whose
 * worker broke (failed with worker-internal-error, workflow ACTIVE). Each counts one pickup and gets a new fencing
 * token. Below max_pickups it is pending again at its old place; at max_pickups it fails with
 * attempt-pickup-exhausted and its workflow is STUCK. So does a pending attempt that another program pushed to the
 * limit. Scheduled attempts that are due become pending as well.
 */
export const reap: Query<ReapParams, ReapRow> = {
  name: "reap",
  columns: [
    ["attempt_id", "id"],
    ["workflow_id", "id"],
    ["role", "text"],
    ["pickup_count", "int"],
    ["previous_instance_id", "text?"],
    ["stuck", "bool"],
  ],
  postgres: [
    {
      text: `with stamp as materialized (
  select pg_catalog.clock_timestamp() as now, pg_catalog.clock_timestamp() - cast(cast($1 as pg_catalog.text) as double precision) * interval '1 millisecond' as limit_at
), due as materialized (
  select a.attempt_id
  from "@schema".workflow_attempts as a
  where coalesce(a.status, '') = 'scheduled' and a.attempt_id = any (array(
    select s.attempt_id from "@schema".workflow_attempts as s where s.status = 'scheduled' and s.run_at <= (select now from stamp)
    union all
    select s.attempt_id from "@schema".workflow_attempts as s where s.status = 'scheduled' and s.run_at is null))
  order by a.attempt_id
  limit cast(cast($2 as pg_catalog.text) as bigint)
  for update of a skip locked
), promoted as (
  update "@schema".workflow_attempts as a set status = 'pending' where a.attempt_id = any (array(select attempt_id from due))
), silent as materialized (
  select a.attempt_id, a.workflow_id, least(a.pickup_count, 2147483646) + 1 as pickup_count
  from "@schema".workflow_attempts as a
  where a.status = 'in_progress'
    and coalesce(a.lock_heartbeat_at, a.locked_at, a.started_at, a.created_at) < (select limit_at from stamp)
  union all
  select a.attempt_id, a.workflow_id, least(a.pickup_count, 2147483646) + 1
  from "@schema".workflow_attempts as a left join "@schema".workflows as w on w.workflow_id = a.workflow_id
  where a.outcome = 'worker-internal-error' and a.status = 'failed' and coalesce(w.status, 'ACTIVE') = 'ACTIVE'
  union all
  select a.attempt_id, a.workflow_id, a.pickup_count
  from "@schema".workflow_attempts as a
  where a.status = 'pending' and a.pickup_count > 0 and a.pickup_count >= cast(cast($3 as pg_catalog.text) as integer)
), doomed as materialized (
  select w.workflow_id
  from "@schema".workflows as w
  where w.workflow_id = any (array(
    select workflow_id from silent where pickup_count >= cast(cast($3 as pg_catalog.text) as integer)))
  order by w.workflow_id
  for update skip locked
), taken as materialized (
  select a.attempt_id, a.workflow_id, a.role, a.locked_by_instance, counted.pickup_count,
         counted.pickup_count >= cast(cast($3 as pg_catalog.text) as integer) as stuck
  from "@schema".workflow_attempts as a
  cross join lateral (select least(a.pickup_count, 2147483646) + cast(a.status <> 'pending' as integer) as pickup_count) as counted
  where a.attempt_id = any (array(select attempt_id from silent))
    and (a.status = 'in_progress'
           and coalesce(a.lock_heartbeat_at, a.locked_at, a.started_at, a.created_at) < (select limit_at from stamp)
         or a.status = 'failed' and a.outcome = 'worker-internal-error'
         or a.status = 'pending' and a.pickup_count >= cast(cast($3 as pg_catalog.text) as integer))
    and (counted.pickup_count < cast(cast($3 as pg_catalog.text) as integer)
         or a.workflow_id in (select workflow_id from doomed)
         or not exists (select from "@schema".workflows as w where w.workflow_id = a.workflow_id))
  order by a.attempt_id
  limit cast(cast($2 as pg_catalog.text) as bigint)
  for update of a skip locked
), requeued as (
  update "@schema".workflow_attempts as a
  set status = 'pending', pickup_count = a.pickup_count + 1, fencing_token = a.fencing_token + 1, outcome = null,
      result = null, finished_at = null, locked_by_instance = null, locked_at = null, lock_heartbeat_at = null,
      started_at = null
  where a.attempt_id = any (array(select attempt_id from taken where not stuck))
), exhausted as (
  update "@schema".workflow_attempts as a
  set status = 'failed', pickup_count = least(a.pickup_count, 2147483646) + cast(a.status <> 'pending' as integer),
      fencing_token = a.fencing_token + 1, outcome = 'attempt-pickup-exhausted', result = null,
      finished_at = pg_catalog.clock_timestamp()
  where a.attempt_id = any (array(select attempt_id from taken where stuck))
), closed as (
  insert into "@schema".workflows as w (workflow_id, status, stuck_reason)
  select distinct workflow_id, 'STUCK', 'attempt-pickup-exhausted' from taken where stuck and workflow_id is not null
  order by workflow_id
  on conflict (workflow_id) do update
  set status = excluded.status, stuck_reason = excluded.stuck_reason, updated_at = pg_catalog.clock_timestamp()
  where w.status not in ('STUCK', 'CANCELLED')
)
select cast(attempt_id as pg_catalog.text) as attempt_id, cast(workflow_id as pg_catalog.text) as workflow_id, role,
       cast(pickup_count as pg_catalog.text) as pickup_count, locked_by_instance as previous_instance_id, cast(stuck as pg_catalog.text) as stuck
from taken as t
order by t.attempt_id`,
      params: ["stale_after_ms", "max_reaped", "max_pickups"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `update main.workflow_attempts
set status = 'pending'
where attempt_id in (
  select attempt_id
  from main.workflow_attempts indexed by workflow_attempts_scheduled
  where status = 'scheduled' and (run_at is null or run_at < date('now', '+2 days') or run_at >= ':')
    and coalesce(round((julianday('now') - julianday(run_at || ' ')) * 86400000), 0) >= 0
  order by attempt_id
  limit coalesce(cast(:max_reaped as integer), -1))`,
      params: ["max_reaped"],
      rows: false,
    },
    {
      text: `update main.workflow_attempts
set pickup_count = coalesce(pickup_count, 0) + (status <> 'pending'), fencing_token = fencing_token + 1, result = null,
    status = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer), 'pending', 'failed'),
    outcome = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer),
                  null, 'attempt-pickup-exhausted'),
    finished_at = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer),
                      null, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    locked_at = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer), null, locked_at),
    lock_heartbeat_at = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer),
                            null, lock_heartbeat_at),
    started_at = iif(coalesce(pickup_count, 0) + (status <> 'pending') < cast(:max_pickups as integer), null, started_at)
where attempt_id in (
  select attempt_id
  from main.workflow_attempts indexed by workflow_attempts_in_progress
  where status = 'in_progress'
    and round((julianday('now') - coalesce(julianday(lock_heartbeat_at || ' '), julianday(locked_at || ' '),
                                           julianday(started_at || ' '), julianday(created_at || ' '), 0)) * 86400000)
      > cast(:stale_after_ms as integer)
  union all
  select a.attempt_id
  from main.workflow_attempts as a left join main.workflows as w on w.workflow_id = a.workflow_id
  where a.outcome = 'worker-internal-error' and a.status = 'failed' and coalesce(w.status, 'ACTIVE') = 'ACTIVE'
  union all
  select attempt_id
  from main.workflow_attempts indexed by workflow_attempts_picked_up
  where status = 'pending' and pickup_count > 0 and pickup_count >= cast(:max_pickups as integer)
  order by attempt_id
  limit coalesce(cast(:max_reaped as integer), -1))
returning cast(attempt_id as text) as attempt_id, cast(workflow_id as text) as workflow_id, role, pickup_count,
          locked_by_instance as previous_instance_id, status = 'failed' as stuck`,
      params: ["max_pickups", "stale_after_ms", "max_reaped"],
      rows: true,
    },
    {
      text: `insert into main.workflows (workflow_id, status, stuck_reason)
select distinct a.workflow_id, 'STUCK', 'attempt-pickup-exhausted'
from main.workflow_attempts as a left join main.workflows as w on w.workflow_id = a.workflow_id
where a.outcome = 'attempt-pickup-exhausted' and a.status = 'failed' and a.workflow_id < 4611686018427387904
  and coalesce(w.status, 'ACTIVE') not in ('STUCK', 'CANCELLED')
on conflict (workflow_id) do update
set status = excluded.status, stuck_reason = excluded.stuck_reason,
    updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')`,
      params: [],
      rows: false,
    },
    {
      text: `update main.workflow_attempts
set locked_by_instance = null
where status = 'pending' and pickup_count > 0 and locked_by_instance is not null`,
      params: [],
      rows: false,
    },
  ],
};

/** Parameters of {@linkcode release}. */
export interface ReleaseParams {
  attempt_id: string;
  instance_id: string;
  fencing_token: string;
}

/** A row of {@linkcode release}. */
export interface ReleaseRow {
  attempt_id: string;
}

/**
 * Hands an attempt back unharmed: pending again at its old place, not counted as a pickup. The fencing token rises,
 * so that the lease that ended here can never act again.
 */
export const release: Query<ReleaseParams, ReleaseRow> = {
  name: "release",
  columns: [
    ["attempt_id", "id"],
  ],
  postgres: [
    {
      text: `update "@schema".workflow_attempts as a
set status = 'pending', fencing_token = a.fencing_token + 1, locked_by_instance = null, locked_at = null,
    lock_heartbeat_at = null, started_at = null
where a.attempt_id = cast(cast($1 as pg_catalog.text) as bigint) and a.status = 'in_progress'
  and a.locked_by_instance = cast(cast($2 as pg_catalog.text) as pg_catalog.text) and a.fencing_token = cast(cast($3 as pg_catalog.text) as bigint)
returning cast(a.attempt_id as pg_catalog.text) as attempt_id`,
      params: ["attempt_id", "instance_id", "fencing_token"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `update main.workflow_attempts
set status = 'pending', fencing_token = fencing_token + 1, locked_by_instance = null, locked_at = null,
    lock_heartbeat_at = null, started_at = null
where attempt_id = cast(:attempt_id as integer) and status = 'in_progress'
  and locked_by_instance = cast(:instance_id as text) and fencing_token = cast(:fencing_token as integer)
returning cast(attempt_id as text) as attempt_id`,
      params: ["attempt_id", "instance_id", "fencing_token"],
      rows: true,
    },
  ],
};

/** Parameters of {@linkcode retry}. */
export interface RetryParams {
  workflow_id: string;
}

/** A row of {@linkcode retry}. */
export interface RetryRow {
  done: boolean;
  /** before */
  status: string | null;
  key: string | null;
}

/**
 * An operator's word that a STUCK workflow may go on: it is ACTIVE, and its exhausted attempts are pending again with
 * a pickup_count of 0. Their fencing tokens go on rising.
 */
export const retry: Query<RetryParams, RetryRow> = {
  name: "retry",
  columns: [
    ["done", "bool"],
    ["status", "text?"],
    ["key", "text?"],
  ],
  postgres: [
    {
      text: `select w.workflow_id from "@schema".workflows as w where w.workflow_id = cast(cast($1 as pg_catalog.text) as bigint) for update`,
      params: ["workflow_id"],
      rows: false,
    },
    {
      text: `with workflow as materialized (
  select w.workflow_id, w.status from "@schema".workflows as w where w.workflow_id = cast(cast($1 as pg_catalog.text) as bigint)
), exhausted as materialized (
  select a.attempt_id, a.key
  from "@schema".workflow_attempts as a
  where a.workflow_id = (select workflow_id from workflow where status = 'STUCK')
    and a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted'
  order by a.attempt_id
  for update
), taken as materialized (
  select e.key
  from exhausted as e
  where exists (
      select from "@schema".workflow_attempts as a
      where a.key = e.key
        and (a.status in ('pending', 'scheduled', 'in_progress')
             or a.status = 'failed' and a.outcome = 'worker-internal-error'))
    or exists (select from exhausted as twin where twin.key = e.key and twin.attempt_id <> e.attempt_id)
  limit 1
), revived as (
  update "@schema".workflow_attempts as a
  set status = 'pending', pickup_count = 0, fencing_token = a.fencing_token + 1, outcome = null, finished_at = null,
      locked_by_instance = null, locked_at = null, lock_heartbeat_at = null, started_at = null
  where a.attempt_id = any (array(select attempt_id from exhausted)) and not exists (select from taken)
), activated as (
  update "@schema".workflows as w
  set status = 'ACTIVE', stuck_reason = null, updated_at = pg_catalog.clock_timestamp()
  from workflow
  where w.workflow_id = workflow.workflow_id and workflow.status = 'STUCK' and not exists (select from taken)
  returning w.workflow_id
)
select cast(exists (select from activated) as pg_catalog.text) as done, (select status from workflow) as status,
       (select key from taken) as key`,
      params: ["workflow_id"],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `with exhausted as (
  select e.attempt_id, e.key
  from main.workflow_attempts as e
  where e.workflow_id = cast(:workflow_id as integer) and e.status = 'failed' and e.outcome = 'attempt-pickup-exhausted'
), workflow as (
  select status from main.workflows where workflow_id = cast(:workflow_id as integer)
), taken as (
  select e.key
  from exhausted as e
  where (select status from workflow) = 'STUCK'
    and (exists (select 1 from exhausted as twin where twin.key = e.key and twin.attempt_id <> e.attempt_id)
         or exists (
           select 1 from main.workflow_attempts as a
           where a.key = e.key
             and (a.status in ('pending', 'scheduled', 'in_progress')
                  or a.status = 'failed' and a.outcome = 'worker-internal-error')))
  limit 1
)
select coalesce((select status from workflow) = 'STUCK', 0) and not exists (select 1 from taken) as done,
       (select status from workflow) as status, (select key from taken) as key`,
      params: ["workflow_id"],
      rows: true,
    },
    {
      text: `update main.workflow_attempts
set status = 'pending', pickup_count = 0, fencing_token = fencing_token + 1, outcome = null, finished_at = null,
    locked_by_instance = null, locked_at = null, lock_heartbeat_at = null, started_at = null
where workflow_id = (select workflow_id from main.workflows where workflow_id = cast(:workflow_id as integer) and status = 'STUCK')
  and status = 'failed' and outcome = 'attempt-pickup-exhausted'
  and not exists (
    with exhausted as (
      select e.attempt_id, e.key
      from main.workflow_attempts as e
      where e.workflow_id = cast(:workflow_id as integer) and e.status = 'failed'
        and e.outcome = 'attempt-pickup-exhausted')
    select 1
    from exhausted as e
    where exists (select 1 from exhausted as twin where twin.key = e.key and twin.attempt_id <> e.attempt_id)
       or exists (
         select 1 from main.workflow_attempts as a
         where a.key = e.key
           and (a.status in ('pending', 'scheduled', 'in_progress')
                or a.status = 'failed' and a.outcome = 'worker-internal-error')))`,
      params: ["workflow_id"],
      rows: false,
    },
    {
      text: `update main.workflows
set status = 'ACTIVE', stuck_reason = null, updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where workflow_id = cast(:workflow_id as integer) and status = 'STUCK'
  and not exists (
    select 1 from main.workflow_attempts as a
    where a.workflow_id = workflows.workflow_id and a.status = 'failed' and a.outcome = 'attempt-pickup-exhausted')`,
      params: ["workflow_id"],
      rows: false,
    },
  ],
};

/** Parameters of {@linkcode stats}. */
export type StatsParams = Record<string, never>;

/** A row of {@linkcode stats}. */
export interface StatsRow {
  role: string | null;
  pending: number;
  scheduled: number;
  in_progress: number;
  succeeded: number;
  failed: number;
  oldest_pending_ms: number | null;
  oldest_heartbeat_ms: number | null;
  stuck: number;
}

/**
 * How each role stands: how many attempts in each state, how long the oldest has been pending, how long ago the most
 * silent lease gave a sign of life; and how many workflows are STUCK, the same number in each row. One row with a
 * role of null when there are no attempts. It reads the whole table: not for every second.
 */
export const stats: Query<StatsParams, StatsRow> = {
  name: "stats",
  columns: [
    ["role", "text?"],
    ["pending", "int"],
    ["scheduled", "int"],
    ["in_progress", "int"],
    ["succeeded", "int"],
    ["failed", "int"],
    ["oldest_pending_ms", "ms?"],
    ["oldest_heartbeat_ms", "ms?"],
    ["stuck", "int"],
  ],
  postgres: [
    {
      text: `with stamp as materialized (
  select pg_catalog.clock_timestamp() as now
), stuck as materialized (
  select pg_catalog.count(*) as workflows from "@schema".workflows where status = 'STUCK'
), per_role as materialized (
  select role, pg_catalog.count(*) filter (where status = 'pending') as pending,
         pg_catalog.count(*) filter (where status = 'scheduled') as scheduled,
         pg_catalog.count(*) filter (where status = 'in_progress') as in_progress,
         pg_catalog.count(*) filter (where status = 'succeeded') as succeeded,
         pg_catalog.count(*) filter (where status = 'failed') as failed,
         pg_catalog.min(created_at) filter (where status = 'pending' and pg_catalog.isfinite(created_at)) as pending_since,
         pg_catalog.min(sign) filter (where status = 'in_progress' and pg_catalog.isfinite(sign)) as silent_since
  from "@schema".workflow_attempts
    cross join lateral (select coalesce(lock_heartbeat_at, locked_at, started_at, created_at) as sign) as last
  group by role
)
select role, cast(coalesce(pending, 0) as pg_catalog.text) as pending, cast(coalesce(scheduled, 0) as pg_catalog.text) as scheduled,
       cast(coalesce(in_progress, 0) as pg_catalog.text) as in_progress, cast(coalesce(succeeded, 0) as pg_catalog.text) as succeeded,
       cast(coalesce(failed, 0) as pg_catalog.text) as failed,
       cast(pg_catalog.floor(extract(epoch from stamp.now - pending_since) * 1000.0) as pg_catalog.text) as oldest_pending_ms,
       cast(pg_catalog.floor(extract(epoch from stamp.now - silent_since) * 1000.0) as pg_catalog.text) as oldest_heartbeat_ms,
       cast(stuck.workflows as pg_catalog.text) as stuck
from stamp cross join stuck left join per_role on true
order by role`,
      params: [],
      rows: true,
    },
  ],
  sqlite: [
    {
      text: `with stuck as (
  select count(*) as workflows from main.workflows where status = 'STUCK'
), per_role as (
  select role, sum(status = 'pending') as pending, sum(status = 'scheduled') as scheduled,
         sum(status = 'in_progress') as in_progress, sum(status = 'succeeded') as succeeded,
         sum(status = 'failed') as failed,
         min(iif(status = 'pending', julianday(created_at || ' '), null)) as pending_since,
         min(iif(status = 'in_progress',
                 coalesce(julianday(lock_heartbeat_at || ' '), julianday(locked_at || ' '),
                          julianday(started_at || ' '), julianday(created_at || ' ')), null)) as silent_since
  from main.workflow_attempts
  group by role
)
select role, coalesce(pending, 0) as pending, coalesce(scheduled, 0) as scheduled,
       coalesce(in_progress, 0) as in_progress, coalesce(succeeded, 0) as succeeded, coalesce(failed, 0) as failed,
       cast(round((julianday('now') - pending_since) * 86400000) as integer) as oldest_pending_ms,
       cast(round((julianday('now') - silent_since) * 86400000) as integer) as oldest_heartbeat_ms,
       stuck.workflows as stuck
from stuck left join per_role on true
order by role`,
      params: [],
      rows: true,
    },
  ],
};

/** The tables: the whole of the current schema, and the way there from each version before. */
export const schemas: {
  readonly postgres: { readonly schema: Script; readonly upgrades: readonly Script[] };
  readonly sqlite: { readonly schema: Script; readonly upgrades: readonly Script[]; readonly adopt: Script | null };
} = {
  postgres: {
    schema: {
      version: 1,
      text: `set local client_min_messages = warning;
select pg_advisory_xact_lock(hashtext('skiplocked'), hashtext(cast(current_schema() as text)));
create table if not exists skiplocked_schema (
  version    integer primary key,
  applied_at timestamptz not null default clock_timestamp()
);
create table if not exists workflows (
  workflow_id  bigint generated by default as identity (sequence name workflows_workflow_id_seq) primary key,
  status       text not null default 'ACTIVE',
  stuck_reason text,
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp()
);
create table if not exists workflow_attempts (
  attempt_id         bigint generated by default as identity primary key,
  workflow_id        bigint not null,
  role               text not null,
  tier               integer,
  priority           integer not null default 0,
  status             text not null default 'pending',
  outcome            text,
  payload            jsonb,
  result             jsonb,
  error              text,
  key                text,
  attempt_number     integer not null default 1,
  pickup_count       integer not null default 0,
  fencing_token      bigint not null default 0,
  locked_by_instance text,
  locked_at          timestamptz,
  lock_heartbeat_at  timestamptz,
  started_at         timestamptz,
  finished_at        timestamptz,
  run_at             timestamptz,
  created_at         timestamptz not null default clock_timestamp()
);
do $$
declare
  attempts constant regclass := to_regclass(format('%I.workflow_attempts', current_schema()));
  fault text;
  theirs record;
begin
  if exists (select from skiplocked_schema) then
    return;
  end if;

  select format('%I.%s', wanted.table_name, wanted.column_name) into fault
  from (values
    ('workflow_attempts', 'attempt_id', '{bigint,integer}'), ('workflow_attempts', 'workflow_id', '{bigint,integer}'),
    ('workflow_attempts', 'role', '{text,character varying}'), ('workflow_attempts', 'tier', '{integer,smallint}'),
    ('workflow_attempts', 'status', '{text,character varying}'), ('workflow_attempts', 'pickup_count', '{integer,bigint}'),
    ('workflow_attempts', 'locked_by_instance', '{text,character varying}'),
    ('workflow_attempts', 'locked_at', '{timestamp with time zone}'),
    ('workflow_attempts', 'lock_heartbeat_at', '{timestamp with time zone}'),
    ('workflow_attempts', 'started_at', '{timestamp with time zone}'),
    ('workflow_attempts', 'created_at', '{timestamp with time zone}'),
    ('workflows', 'workflow_id', '{bigint}'), ('workflows', 'status', '{text}'), ('workflows', 'stuck_reason', '{text}'),
    ('workflows', 'created_at', '{timestamp with time zone}'), ('workflows', 'updated_at', '{timestamp with time zone}')
  ) as wanted (table_name, column_name, types)
  where not exists (
    select from pg_attribute c
    where c.attrelid = to_regclass(format('%I.%I', current_schema(), wanted.table_name))
      and c.attname = wanted.column_name and not c.attisdropped
      and c.atttypid = any (cast(wanted.types as regtype[])))
  limit 1;
  if fault is not null then
    raise exception 'a table of another program is in the way: column % is missing or of another type', fault
      using errcode = 'SL001', hint = 'Use another schema for the queue, or rename that table.';
  end if;

  -- Operators of varchar are looked for along the search_path, and somebody may have made one there; for text pg_catalog has
  -- them. No row is written anew.
  for theirs in
    select attname, cast(attcollation as regcollation) as collation from pg_attribute
    where attrelid = attempts and attname in ('role', 'status', 'locked_by_instance') and not attisdropped
      and atttypid = cast('character varying' as regtype)
  loop
    begin
      execute format('alter table workflow_attempts alter column %I type text collate %s', theirs.attname, theirs.collation);
    exception when feature_not_supported then
      raise exception 'a table of another program is in the way: workflow_attempts.% cannot become text (%): '
        'drop what depends on it, migrate, and create it again', theirs.attname, sqlerrm using errcode = 'SL001';
    end;
  end loop;

  -- What its own writes satisfy and ours would not.
  select format('workflow_attempts.%I may not be null: drop that, or give it a default if it is no column of the queue', attname) into fault
  from pg_attribute
  where attrelid = attempts and attnum > 0 and not attisdropped and attnotnull
    and (attname in ('tier', 'locked_by_instance', 'locked_at', 'lock_heartbeat_at', 'started_at')
         or attname not in ('attempt_id', 'workflow_id', 'role', 'status', 'pickup_count', 'created_at')
            and not atthasdef and attidentity = '')
  limit 1;
  for theirs in
    select conname, pg_get_expr(conbin, conrelid) as expression
    from pg_constraint join pg_attribute on attrelid = conrelid and conkey = array[attnum]
    where conrelid = attempts and contype = 'c' and attname = 'status'
  loop
    execute format('select %L || min(status) || %L from (values (''pending''), (''scheduled''), (''in_progress''), (''succeeded''), '
      '(''failed''), (''cancelled'')) as workflow_attempts (status) where not (%s) having count(*) > 0',
      format('the check %I of workflow_attempts refuses the status ', theirs.conname), ': drop it', theirs.expression) into fault;
    exit when fault is not null;
  end loop;
  if fault is not null then
    raise exception 'a table of another program is in the way: %', fault using errcode = 'SL001';
  end if;

  if exists (select from pg_attribute where attrelid = attempts and attname = 'fencing_token' and not attisdropped) then
    return;
  end if;

  alter table workflow_attempts
    add column priority       integer not null default 0,
    add column outcome        text,
    add column payload        jsonb,
    add column result         jsonb,
    add column error          text,
    add column key            text,
    add column attempt_number integer not null default 1,
    add column fencing_token  bigint not null default 0,
    add column finished_at    timestamptz,
    add column run_at         timestamptz;
  update workflow_attempts
    set status = coalesce(status, 'pending'), pickup_count = coalesce(pickup_count, 0),
        created_at = coalesce(created_at, clock_timestamp())
    where status is null or pickup_count is null or created_at is null;
  alter table workflow_attempts
    alter column status set default 'pending',        alter column status set not null,
    alter column pickup_count set default 0,          alter column pickup_count set not null,
    alter column created_at set default clock_timestamp(), alter column created_at set not null;

  -- Its attempts name workflows that we know nothing of: new workflows must not get their numbers.
  perform setval('workflows_workflow_id_seq', max(workflow_id)) from workflow_attempts having max(workflow_id) > 0;

  if not exists (select from pg_attribute a
                 where a.attrelid = attempts and a.attname = 'attempt_id' and (a.atthasdef or a.attidentity <> '')) then
    alter table workflow_attempts alter column attempt_id set not null;
    alter table workflow_attempts alter column attempt_id add generated by default as identity;
    perform setval(pg_get_serial_sequence(format('%s', attempts), 'attempt_id'), max(attempt_id))
      from workflow_attempts having max(attempt_id) > 0;
  elsif exists (select from pg_attribute where attrelid = attempts and attname = 'attempt_id' and attidentity = 'a') then
    alter table workflow_attempts alter column attempt_id set generated by default;
  end if;
end $$;
create index if not exists workflow_attempts_pending
  on workflow_attempts (role, priority, created_at, attempt_id, pickup_count) where status = 'pending';
create index if not exists workflow_attempts_in_progress on workflow_attempts (attempt_id) where status = 'in_progress';
create index if not exists workflow_attempts_scheduled on workflow_attempts (run_at) where status = 'scheduled';
create index if not exists workflow_attempts_broken
  on workflow_attempts (outcome, attempt_id) where outcome in ('worker-internal-error', 'attempt-pickup-exhausted');
create index if not exists workflow_attempts_picked_up
  on workflow_attempts (pickup_count, attempt_id) where status = 'pending' and pickup_count > 0;
create index if not exists workflow_attempts_workflow_id on workflow_attempts (workflow_id);
create unique index if not exists workflow_attempts_key on workflow_attempts (key)
  where key is not null
    and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error');
create index if not exists workflows_created_at on workflows (created_at, workflow_id);
alter table workflow_attempts set (
  fillfactor = 70, vacuum_truncate = off,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
alter table workflows set (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
alter table workflow_attempts alter column status set statistics 0, alter column role set statistics 0;
insert into skiplocked_schema (version) values (1) on conflict do nothing;`,
    },
    upgrades: [],
  },
  sqlite: {
    schema: {
      version: 1,
      text: `create table if not exists main.skiplocked_schema (
  version    integer primary key,
  applied_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
create table if not exists main.workflows (
  workflow_id  integer primary key autoincrement,
  status       text not null default 'ACTIVE',
  stuck_reason text,
  created_at   text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  updated_at   text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
create table if not exists main.workflow_attempts (
  attempt_id         integer primary key autoincrement,
  workflow_id        integer not null,
  role               text not null,
  tier               integer,
  priority           integer not null default 0,
  status             text not null default 'pending',
  outcome            text,
  payload            text,
  result             text,
  error              text,
  key                text,
  attempt_number     integer not null default 1,
  pickup_count       integer not null default 0,
  fencing_token      integer not null default 0,
  locked_by_instance text,
  locked_at          text,
  lock_heartbeat_at  text,
  started_at         text,
  finished_at        text,
  run_at             text,
  created_at         text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
create index if not exists main.workflow_attempts_pending
  on workflow_attempts (role, priority, created_at, attempt_id, pickup_count) where status = 'pending';
create index if not exists main.workflow_attempts_in_progress on workflow_attempts (attempt_id) where status = 'in_progress';
create index if not exists main.workflow_attempts_scheduled on workflow_attempts (run_at) where status = 'scheduled';
create index if not exists main.workflow_attempts_broken
  on workflow_attempts (outcome, attempt_id) where outcome = 'worker-internal-error' or outcome = 'attempt-pickup-exhausted';
create index if not exists main.workflow_attempts_picked_up
  on workflow_attempts (pickup_count, attempt_id) where status = 'pending' and pickup_count > 0;
create index if not exists main.workflow_attempts_workflow_id on workflow_attempts (workflow_id);
create unique index if not exists main.workflow_attempts_key on workflow_attempts (key)
  where key is not null
    and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error');
create index if not exists main.workflows_created_at on workflows (created_at);
insert into main.sqlite_sequence (name, seq)
select 'workflows', coalesce((select max(workflow_id) from main.workflow_attempts), 0)
where not exists (select 1 from main.sqlite_sequence where name = 'workflows');
insert or ignore into main.skiplocked_schema (version)
select 1 where (select count(*) from pragma_table_info('workflow_attempts', 'main')) >= 21;`,
    },
    upgrades: [],
    adopt: {
      version: 1,
      text: `alter table main.workflow_attempts add column priority integer not null default 0;
alter table main.workflow_attempts add column outcome text;
alter table main.workflow_attempts add column payload text;
alter table main.workflow_attempts add column result text;
alter table main.workflow_attempts add column error text;
alter table main.workflow_attempts add column key text;
alter table main.workflow_attempts add column attempt_number integer not null default 1;
alter table main.workflow_attempts add column fencing_token integer not null default 0;
alter table main.workflow_attempts add column finished_at text;
alter table main.workflow_attempts add column run_at text;
update main.workflow_attempts
set pickup_count = coalesce(pickup_count, 0), status = coalesce(status, 'pending'),
    created_at = coalesce(created_at, strftime('%Y-%m-%d %H:%M:%f', 'now'))
where pickup_count is null or status is null or created_at is null;`,
    },
  },
};
