-- Webhooks: where the end of a run is told, and every try to tell it.

create table webhook (
    id          text primary key,
    url         text        not null,
    -- types of events that are told
    events      jsonb       not null,
    description text,
    -- the signing secret, encrypted with a key that is derived from the installation's secret
    secret      bytea       not null,
    created_by  text,
    created_at  timestamptz not null,
    -- set when the receiver said that it is gone
    disabled_at timestamptz
);

create table webhook_delivery (
    id         text primary key,
    webhook_id text        not null references webhook on delete cascade,
    -- name of the event for its receiver; a redelivery keeps it
    event      text        not null,
    type       text        not null,
    run_id     text references run on delete cascade,
    payload    text        not null,
    -- pending, delivered or failed
    state      text        not null,
    attempts   int         not null default 0,
    next_at    timestamptz,
    created_at timestamptz not null,
    ended_at   timestamptz
);

create index webhook_delivery_newest on webhook_delivery (webhook_id, id desc);
create index webhook_delivery_run on webhook_delivery (run_id);

create table webhook_attempt (
    delivery_id text        not null references webhook_delivery on delete cascade,
    attempt     int         not null,
    at          timestamptz not null,
    -- HTTP status; null when there was no answer
    status      int,
    error       text,
    ms          bigint      not null,
    primary key (delivery_id, attempt)
);
