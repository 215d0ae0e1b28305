-- What proposer-service writes. Times are UTC; hashes read sha256:<hex>; scores lie from 0 to 1.

create table harness (
    hash       text primary key,
    -- program; later also overlay
    kind       text        not null,
    source     text        not null,
    created_at timestamptz not null
);

create table task (
    id          text primary key,
    -- items: questions given by the user; further kinds (episodes) may follow
    kind        text        not null,
    name        text,
    description text        not null,
    scorer      jsonb       not null,
    created_by  text,
    created_at  timestamptz not null
);

create table task_item (
    task_id  text  not null references task on delete cascade,
    split    text  not null,
    position int   not null,
    hash     text  not null,
    item     jsonb not null,
    primary key (task_id, split, position),
    unique (task_id, hash)
);

-- An adaptation, a revision or an evaluation: a durable job with settings and a result.
create table run (
    id            text primary key,
    kind          text        not null,
    harness_kind  text        not null,
    task_kind     text        not null,
    task_name     text        not null,
    state         text        not null,
    -- what the user asked for and the job has not yet obeyed: cancel or pause
    wanted        text,
    stop_reason   text,
    message       text,
    settings      jsonb       not null,
    -- what the job needs beside the settings: models' identities, scorer, description, versions
    plan          jsonb       not null,
    seed_harness  text        not null references harness,
    recorded      boolean     not null,
    result        jsonb,
    lineage_hash  text,
    created_by    text,
    created_at    timestamptz not null,
    finished_at   timestamptz,
    -- wall clock spent working, in milliseconds; neither waiting, pauses nor time between a kill and the resume
    active_ms     bigint      not null default 0,
    -- calls made twice because a kill came between the call and its commit
    repeated      bigint      not null default 0,
    -- how often a worker began it since its last committed unit of work
    starts        int         not null default 0,
    planned_calls bigint      not null default 0,
    done_calls    bigint      not null default 0,
    -- grows with every change: the entity tag
    version       bigint      not null default 1,
    last_event    bigint      not null default 0
);

create index run_newest on run (kind, id desc);
create index run_by_task on run (task_name, id desc);

create table run_item (
    run_id   text  not null references run on delete cascade,
    split    text  not null,
    position int   not null,
    hash     text  not null,
    item     jsonb not null,
    primary key (run_id, split, position)
);

create table round (
    run_id      text not null references run on delete cascade,
    round       int  not null,
    parent      text not null references harness,
    -- feedback score of the parent
    report      jsonb,
    -- the report as the proposer reads it
    report_text text,
    chosen      text references harness,
    primary key (run_id, round)
);

-- One call of the proposer with n samples. The replies are committed with their candidates, all at once.
create table proposer_call (
    run_id            text   not null references run on delete cascade,
    round             int    not null,
    call              int    not null,
    demonstration     text,
    candidates        jsonb  not null,
    -- how often it was begun; more than once only after a kill or a provider failure
    attempts          int    not null default 0,
    prompt_hash       text   not null,
    messages          jsonb  not null,
    model             text   not null,
    weights_version   text,
    prompt_token_ids  jsonb,
    prompt_tokens     bigint not null default 0,
    completion_tokens bigint not null default 0,
    ms                bigint not null default 0,
    committed_at      timestamptz,
    primary key (run_id, round, call)
);

create table candidate (
    run_id        text not null references run on delete cascade,
    round         int  not null,
    candidate     int  not null,
    call          int  not null,
    demonstration text,
    seed          bigint not null,
    reply         text,
    finish_reason text,
    token_ids     jsonb,
    logprobs      jsonb,
    harness       text references harness,
    tier          text,
    diff          text,
    similarity    double precision,
    -- scored, invalid, infra_failure or not_finished; null while it is being judged
    outcome       text,
    code          text,
    message       text,
    duplicate_of  text,
    score         jsonb,
    finished_at   timestamptz,
    primary key (run_id, round, candidate)
);

create index candidate_by_harness on candidate (run_id, harness);

-- One harness on one split: what was asked of the executor and what came back.
create table evaluation (
    id        text primary key,
    run_id    text not null references run on delete cascade,
    round     int  not null,
    candidate int,
    -- seed, incumbent, candidate, result, demonstration or noise
    role      text not null,
    split     text not null,
    repeat    int  not null,
    harness   text not null references harness,
    questions int  not null,
    state     text not null,
    attempts  int  not null default 0,
    -- per question, without traces
    results   jsonb not null,
    failure   text,
    message   text
);

create index evaluation_by_run on evaluation (run_id);

create table run_event (
    run_id text   not null references run on delete cascade,
    id     bigint not null,
    type   text   not null,
    data   jsonb  not null,
    at     timestamptz not null,
    primary key (run_id, id)
);

create table idempotency (
    owner        text not null,
    key          text not null,
    request_hash text not null,
    run_id       text not null references run on delete cascade,
    created_at   timestamptz not null,
    primary key (owner, key)
);

create table api_key (
    id         text primary key,
    name       text        not null,
    -- read, run or admin
    scope      text        not null,
    -- SHA-256 of the key; the key itself is shown once and never stored
    hash       text        not null unique,
    created_at timestamptz not null,
    revoked_at timestamptz
);

-- Table of db-scheduler, in the form its documentation gives for Postgres.
create table scheduled_tasks (
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

create index scheduled_tasks_due on scheduled_tasks (execution_time);
create index scheduled_tasks_heartbeat on scheduled_tasks (last_heartbeat);
