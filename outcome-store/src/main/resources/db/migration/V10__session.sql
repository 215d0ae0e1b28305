-- Sign-ins to the ops pages. Shared by all gateways; a session lives no longer than its key.

create table session (
    -- SHA-256 of the cookie's value; the value itself is never stored
    hash         text primary key,
    key_id       text        not null references api_key on delete cascade,
    created_at   timestamptz not null,
    -- exact to about a minute
    last_seen_at timestamptz not null,
    expires_at   timestamptz not null
);

create index session_by_key on session (key_id);

-- When a key stops working by itself; null for never.
alter table api_key add column expires_at timestamptz;

-- What each executor does now, told with its heartbeats: jobs that hold a container, jobs that wait, and started
-- containers that are ready or on their way.
alter table executor_instance add column running int not null default 0;
alter table executor_instance add column waiting int not null default 0;
alter table executor_instance add column idle int not null default 0;
alter table executor_instance add column starting int not null default 0;

-- The last minutes and the last day are asked for over all runs.
create index model_call_by_start on model_call (started_at);
create index question_result_by_time on question_result (committed_at);
create index candidate_by_time on candidate (finished_at);
create index proposer_call_by_time on proposer_call (committed_at);
