-- First answers under an Idempotency-Key, for calls that make no run.

create table first_answer (
    -- id of the API key
    owner        text        not null,
    -- SHA-256 of the Idempotency-Key
    key_hash     text        not null,
    request_hash text        not null,
    -- until then the first request may still be at work; later its process counts as lost
    locked_until timestamptz not null,
    -- status, headers and body, encrypted with a key that is derived from the Idempotency-Key; null while at work
    answer       bytea,
    created_at   timestamptz not null,
    primary key (owner, key_hash)
);

create index first_answer_age on first_answer (created_at);

-- Retention looks for runs that ended long ago.
create index run_finished on run (finished_at) where finished_at is not null;
