-- What harness-executor writes: results of questions, calls of models, and what a run may spend.

create table run_budget (
    run_id       text primary key,
    calls_limit  bigint      not null check (calls_limit >= 0),
    calls_used   bigint      not null default 0 check (calls_used >= 0),
    tokens_limit bigint      not null check (tokens_limit >= 0),
    tokens_used  bigint      not null default 0 check (tokens_used >= 0),
    deadline     timestamptz,
    opened_at    timestamptz not null
);

-- One committed question; the primary key is the evaluation cache's key. A row is never changed.
create table question_result (
    harness_hash text             not null,
    item_hash    text             not null,
    repeat       integer          not null check (repeat >= 0),
    solver_hash  text             not null,
    scorer_hash  text             not null,
    run_id       text             not null,
    attempt_id   uuid             not null unique,
    code         text             not null,
    score        double precision not null check (score >= 0 and score <= 1),
    strict       boolean          not null,
    answer       text,
    detail       jsonb            not null,
    committed_at timestamptz      not null,
    primary key (harness_hash, item_hash, repeat, solver_hash, scorer_hash),
    check (code = 'OK' or score = 0),
    check (strict = (score = 1))
);

create index question_result_run on question_result (run_id, committed_at);

-- Ledger of model calls: a row is written before its call starts and completed when the call ends, so a row without an
-- end is a call whose executor was lost. An attempt is one try of one question.
create table model_call (
    id                uuid primary key,
    run_id            text        not null,
    role              text        not null check (role in ('solver', 'proposer')),
    attempt_id        uuid        not null,
    harness_hash      text        not null,
    item_hash         text        not null,
    repeat            integer     not null,
    solver_hash       text        not null,
    scorer_hash       text        not null,
    started_at        timestamptz not null,
    ended_at          timestamptz,
    ok                boolean,
    prompt_tokens     integer     not null default 0,
    completion_tokens integer     not null default 0,
    ms                bigint      not null default 0,
    check ((ended_at is null) = (ok is null))
);

create index model_call_run on model_call (run_id, role);
create index model_call_attempt on model_call (attempt_id);
