-- What a task's sandboxes have beyond the platform's own: an image and tools, by name.

alter table task add column sandbox jsonb;

alter table run_budget add column tool_calls_limit bigint not null default 0 check (tool_calls_limit >= 0);
alter table run_budget add column tool_calls_used bigint not null default 0 check (tool_calls_used >= 0);

-- Ledger of the calls of env.tool, as model_call is that of the model's: written before a call starts, completed when it
-- ends. One row a call, whatever the number of its tries.
create table tool_call (
    id             uuid primary key,
    run_id         text        not null,
    tool           text        not null,
    attempt_id     uuid        not null,
    harness_hash   text        not null,
    item_hash      text        not null,
    repeat         integer     not null,
    solver_hash    text        not null,
    scorer_hash    text        not null,
    started_at     timestamptz not null,
    ended_at       timestamptz,
    -- ok: the harness got a result; error: it got an exception; unavailable: the tool failed, and the question has no result
    outcome        text check (outcome in ('ok', 'error', 'unavailable')),
    status         integer,
    tries          integer     not null default 0,
    response_bytes bigint      not null default 0,
    ms             bigint      not null default 0,
    check ((ended_at is null) = (outcome is null))
);

create index tool_call_run on tool_call (run_id);
create index tool_call_attempt on tool_call (attempt_id);
