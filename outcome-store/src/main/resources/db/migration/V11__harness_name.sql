-- Names of harnesses: a name has versions, and one of them may be live, which is what a team's agent loads.

create table harness_name (
    name       text primary key,
    -- version that is live; null before the first promotion
    live       int,
    -- grows with every change of the name: the entity tag
    changes    bigint      not null default 0,
    created_by text,
    created_at timestamptz not null
);

create table harness_version (
    name       text        not null references harness_name on delete cascade,
    version    int         not null,
    harness    text        not null references harness,
    -- the adaptation that found it; the version outlives the run
    adaptation text,
    note       text,
    created_by text,
    created_at timestamptz not null,
    primary key (name, version),
    unique (name, harness)
);

create table harness_change (
    name       text        not null references harness_name on delete cascade,
    id         int         not null,
    -- promoted or rolled_back
    action     text        not null,
    version    int         not null,
    -- version that was live before; null for the first
    before     int,
    -- whether an admin overrode a gate
    forced     boolean     not null,
    note       text,
    created_by text,
    created_at timestamptz not null,
    primary key (name, id)
);
