-- The registry of adapters: trainer-service writes it, the others read it.

create table model_version (
    -- hash of both files of the adapter, sha256:<hex>
    id           text primary key,
    base         text        not null,
    base_hash    text        not null,
    -- sft, grpo, multistep
    kind         text        not null,
    parent       text,
    training_run text,
    step         bigint      not null,
    config       bytea       not null,
    bytes        bigint      not null,
    created_at   timestamptz not null
);

create index model_version_by_base on model_version (base, created_at desc);

create table model_version_part (
    version_id text  not null references model_version on delete cascade,
    part       int   not null,
    content    bytea not null,
    primary key (version_id, part)
);

alter table model_version_part alter column content set storage external;

-- A name that requests may use for a version; version null stands for the base model itself.
create table model_alias (
    name       text primary key,
    base       text        not null,
    version_id text references model_version,
    -- promoted names are loaded at start and listed; others belong to a training run or an evaluation
    promoted   boolean     not null,
    changed_at timestamptz not null
);

create table model_alias_change (
    name       text        not null,
    change     int         not null,
    version_id text,
    previous   text,
    -- promote or rollback
    action     text        not null,
    forced     boolean     not null,
    promotion  text,
    reason     text,
    changed_by text,
    at         timestamptz not null,
    primary key (name, change)
);

-- An evaluation of a version against the serving one, and what was decided.
create table promotion (
    id          text primary key,
    name        text        not null,
    base        text        not null,
    candidate   text        not null references model_version,
    -- null: the base model
    serving     text references model_version,
    -- queued, running, paused, promoted, refused, failed
    state       text        not null,
    message     text,
    settings    jsonb       not null,
    -- revisions by family, seed and side
    runs        jsonb       not null,
    decision    jsonb,
    created_by  text,
    created_at  timestamptz not null,
    finished_at timestamptz,
    version     bigint      not null default 1
);

create index promotion_by_name on promotion (name, id desc);
