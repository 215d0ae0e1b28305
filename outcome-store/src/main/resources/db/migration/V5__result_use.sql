-- Results that a run took over from another one instead of computing them; the other half of the ledger of model calls.

create table result_use (
    run_id       text        not null,
    harness_hash text        not null,
    item_hash    text        not null,
    repeat       integer     not null,
    solver_hash  text        not null,
    scorer_hash  text        not null,
    used_at      timestamptz not null,
    primary key (run_id, harness_hash, item_hash, repeat, solver_hash, scorer_hash)
);
