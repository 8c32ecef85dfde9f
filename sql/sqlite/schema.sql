-- skiplocked: the tables of the queue, for SQLite 3.38 and later
-- version: 1
--
-- Run it with `.read schema.sql`, or let `queue.migrate()` run it: both give the same tables and record the version, so the
-- two can be mixed, and running it again changes nothing. Where the older program named below has made its own
-- workflow_attempts, run `adopt.sql` first (`migrate()` does).
--
-- THE MODEL
--
-- A workflow is a job as a whole. It has one attempt or more; an attempt is one try at one step of it, by one role (the
-- kind of worker it is for). Attempts are what is queued, claimed and worked on; `queries/` holds one file for each thing
-- that can happen to them:
--
--     enqueue                               dequeue                         complete
--    ---------> scheduled --(due: reap)--> pending --------> in_progress ------------> succeeded
--        \___________________________________^  ^                |    \      fail
--                                               |________________|     \-------------> failed
--                                             release, reap (silent)    \    cancel
--                                                                        \-----------> cancelled
--
-- Claim and lease. `dequeue` takes the first pending attempt of its roles (lowest priority number, then oldest) and stamps
-- it: in_progress, the worker's name in locked_by_instance, the times, and a new fencing_token. Those three (attempt_id,
-- locked_by_instance, fencing_token) are the lease. `heartbeat` moves lock_heartbeat_at; whoever stays silent for too long
-- loses the attempt to `reap`, which anybody may run at any time, and from several places at once.
--
-- Fencing. The token only ever rises: when a lease begins, and when one ends otherwise than by its holder finishing.
-- `heartbeat`, `complete`, `fail` and `release` act only on the row whose token they were given, so a worker that slept
-- through its lease changes nothing when it wakes, not even if the same worker has claimed the same attempt again.
--
-- Poison. Each time an attempt is reaped its pickup_count rises. At the limit (3 unless told otherwise) it fails with the
-- outcome attempt-pickup-exhausted and its workflow is STUCK: nobody claims it until an operator runs `retry`.
--
-- The status of a workflow follows from its attempts, in the same transaction: ACTIVE while there is something to do,
-- FAILED when an attempt failed for good, SUCCEEDED when the last open attempt succeeded, STUCK and CANCELLED until an
-- operator acts. Open attempts are those pending, scheduled or in_progress, and those that failed with the outcome
-- worker-internal-error: the worker broke there and not the work, and `reap` gives them another pickup.
--
-- Another program that knows only the first columns of workflow_attempts (attempt_id to created_at, less the ones marked
-- "ours") may work on the same rows: every other column has a default or is null, nothing here refuses its writes, and an
-- attempt may name a workflow that has no row.

-- Times are UTC text, YYYY-MM-DD HH:MM:SS.SSS, which is what SQLite's own functions give. Other programs may write other
-- forms of the same instant: what decides is always the instant. Only the order of the queue goes by created_at as written.

begin immediate;

create table if not exists skiplocked_schema (
  version    integer primary key,
  applied_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);

create table if not exists workflows (
  workflow_id  integer primary key autoincrement,     -- autoincrement: an id is never given twice
  status       text not null default 'ACTIVE',        -- ACTIVE SUCCEEDED FAILED STUCK CANCELLED
  stuck_reason text,
  created_at   text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  updated_at   text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);

create table if not exists workflow_attempts (
  attempt_id         integer primary key autoincrement,
  workflow_id        integer not null,                -- no foreign key: the row may be missing
  role               text not null,
  tier               integer,
  priority           integer not null default 0,      -- ours; a lower number first
  status             text not null default 'pending', -- pending scheduled in_progress succeeded failed cancelled
  outcome            text,                            -- ours; what came of it, in the worker's words
  payload            text,                            -- ours; JSON
  result             text,                            -- ours; JSON
  error              text,                            -- ours
  key                text,                            -- ours; at most one open attempt has it
  attempt_number     integer not null default 1,      -- ours
  pickup_count       integer not null default 0,
  fencing_token      integer not null default 0,      -- ours
  locked_by_instance text,
  locked_at          text,
  lock_heartbeat_at  text,
  started_at         text,
  finished_at        text,                            -- ours
  run_at             text,                            -- ours; when a scheduled attempt is due
  created_at         text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);

-- What a claim reads: the pending attempts of each role in the order in which they are taken. pickup_count comes last so
-- that attempts over the limit are passed by without a look at the table. No index holds lock_heartbeat_at.
create index if not exists workflow_attempts_pending
  on workflow_attempts (role, priority, created_at, attempt_id, pickup_count) where status = 'pending';

-- What reap reads: leases, scheduled attempts by the time they are due, attempts whose worker broke (and those exhausted,
-- behind every STUCK workflow), and pending attempts that were picked up before.
create index if not exists workflow_attempts_in_progress on workflow_attempts (attempt_id) where status = 'in_progress';
create index if not exists workflow_attempts_scheduled on workflow_attempts (run_at) where status = 'scheduled';
create index if not exists workflow_attempts_broken
  on workflow_attempts (outcome, attempt_id) where outcome = 'worker-internal-error' or outcome = 'attempt-pickup-exhausted';
create index if not exists workflow_attempts_picked_up
  on workflow_attempts (pickup_count, attempt_id) where status = 'pending' and pickup_count > 0;

-- The attempts of a workflow: is one still open?
create index if not exists workflow_attempts_workflow_id on workflow_attempts (workflow_id);

-- At most one open attempt has a key.
create unique index if not exists workflow_attempts_key on workflow_attempts (key)
  where key is not null
    and (status in ('pending', 'scheduled', 'in_progress') or status = 'failed' and outcome = 'worker-internal-error');

-- What prune walks.
create index if not exists workflows_created_at on workflows (created_at);

-- The row from which enqueue moves the numbers of new workflows past those that another program's attempts name.
insert into sqlite_sequence (name, seq)
select 'workflows', coalesce((select max(workflow_id) from workflow_attempts), 0)
where not exists (select 1 from sqlite_sequence where name = 'workflows');

-- Recorded only when every column is there.
insert or ignore into skiplocked_schema (version)
select 1 where (select count(*) from pragma_table_info('workflow_attempts')) >= 21;

commit;
