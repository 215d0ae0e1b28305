-- Which executors live: each says so every few seconds. Who shares this table may judge whose containers are left over.

create table executor_registry (
    id uuid primary key
);

insert into executor_registry (id) values (gen_random_uuid());

create table executor_instance (
    instance text        primary key,
    beat_at  timestamptz not null
);
