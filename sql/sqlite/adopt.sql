-- skiplocked: takes over a workflow_attempts that the older program made, for SQLite
--
-- That program knows only attempt_id, workflow_id, role, tier, status, pickup_count, locked_by_instance, locked_at,
-- lock_heartbeat_at, started_at and created_at. Its table keeps all it has and gets the columns it lacks; the program may
-- go on working. Run this once and then schema.sql; `queue.migrate()` runs both where it finds such a table. (Postgres needs
-- no such file: its schema.sql can look for itself.)

begin immediate;

alter table workflow_attempts add column priority integer not null default 0;
alter table workflow_attempts add column outcome text;
alter table workflow_attempts add column payload text;
alter table workflow_attempts add column result text;
alter table workflow_attempts add column error text;
alter table workflow_attempts add column key text;
alter table workflow_attempts add column attempt_number integer not null default 1;
alter table workflow_attempts add column fencing_token integer not null default 0;
alter table workflow_attempts add column finished_at text;
alter table workflow_attempts add column run_at text;

-- Without a default in that program's own table these may be null.
update workflow_attempts
set pickup_count = coalesce(pickup_count, 0), status = coalesce(status, 'pending'),
    created_at = coalesce(created_at, strftime('%Y-%m-%d %H:%M:%f', 'now'))
where pickup_count is null or status is null or created_at is null;

commit;
