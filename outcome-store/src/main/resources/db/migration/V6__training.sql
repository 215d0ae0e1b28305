-- What trainer-service writes about its runs.

create table training_run (
    id           text primary key,
    -- sft, grpo or multistep
    kind         text        not null,
    name         text,
    base_model   text        not null,
    state        text        not null,
    -- what the user asked for and the job has not yet obeyed: cancel or pause
    wanted       text,
    stop_reason  text,
    message      text,
    settings     jsonb       not null,
    result       jsonb,
    created_by   text,
    created_at   timestamptz not null,
    started_at   timestamptz,
    finished_at  timestamptz,
    -- since when it waits for a worker
    queued_at    timestamptz not null,
    -- wall clock spent in steps that count, in milliseconds
    active_ms    bigint      not null default 0,
    -- how often a worker began it since its last committed step
    starts       int         not null default 0,
    step         bigint      not null default 0,
    planned      bigint      not null,
    version      bigint      not null default 1,
    last_event   bigint      not null default 0,
    -- the Idempotency-Key that made it
    once_owner   text,
    once_key     text,
    request_hash text,
    unique (once_owner, once_key)
);

create index training_run_open on training_run (state, id) where state in ('queued', 'running', 'paused');

create table training_event (
    run_id text        not null references training_run on delete cascade,
    id     bigint      not null,
    type   text        not null,
    data   jsonb       not null,
    at     timestamptz not null,
    primary key (run_id, id)
);

create table training_metric (
    run_id  text        not null references training_run on delete cascade,
    step    bigint      not null,
    metrics jsonb       not null,
    counts  jsonb       not null,
    ms      bigint      not null,
    at      timestamptz not null,
    primary key (run_id, step)
);

-- A row is committed together with all its parts or not at all.
create table training_checkpoint (
    run_id     text        not null references training_run on delete cascade,
    step       bigint      not null,
    -- wall clock of the run up to this step
    active_ms  bigint      not null,
    -- [{"name", "bytes", "hash"}]
    files      jsonb       not null,
    created_at timestamptz not null,
    primary key (run_id, step)
);

create table training_checkpoint_part (
    run_id  text   not null,
    step    bigint not null,
    file    text   not null,
    part    int    not null,
    content bytea  not null,
    primary key (run_id, step, file, part),
    foreign key (run_id, step) references training_checkpoint on delete cascade
);

-- Already compressed or close to random: compressing again costs time only.
alter table training_checkpoint_part alter column content set storage external;

-- Table of db-scheduler for the trainer's tasks; apart, so that no other service's scheduler meets them.
create table training_tasks (
    task_name            text        not null,
    task_instance        text        not null,
    task_data            bytea,
    execution_time       timestamptz not null,
    picked               boolean     not null,
    picked_by            text,
    last_success         timestamptz,
    last_failure         timestamptz,
    consecutive_failures int,
    last_heartbeat       timestamptz,
    version              bigint      not null,
    priority             smallint,
    primary key (task_name, task_instance)
);

create index training_tasks_due on training_tasks (execution_time);
create index training_tasks_heartbeat on training_tasks (last_heartbeat);
