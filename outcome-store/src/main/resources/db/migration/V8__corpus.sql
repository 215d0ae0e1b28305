-- What trainer-service makes of teachers' edits: one row for each that was executed, accepted or not.

create table corpus_sample (
    -- the training run that gathered it
    training_run         text             not null references training_run on delete cascade,
    -- grows in the order in which the edits were asked for, so that a corpus reads the same each time
    position             bigint           not null,
    -- provenance: the revision whose candidate it is; the revision may be deleted later
    run_id               text             not null,
    round                int              not null,
    candidate            int              not null,
    family               text             not null,
    -- the harness that was edited
    harness              text             not null references harness,
    teacher              text             not null,
    -- the earlier turn that the teacher saw; no part of the training prompt
    demonstration        text,
    prompt_version       text             not null,
    report_version       text             not null,
    descriptions_version text             not null,
    -- what the model to be trained reads: without demonstrations
    messages             jsonb,
    continued            boolean          not null default false,
    reply                text,
    -- in the tokens of the model to be trained; null where the edit is rejected
    prompt_token_ids     jsonb,
    completion_token_ids jsonb,
    -- hash of the edit as a diff without blanks' and comments' differences
    diff_hash            text,
    score                double precision,
    parent_score         double precision,
    -- absolute difference of two scorings of the parent
    noise                double precision,
    accepted             boolean          not null,
    -- why it is rejected; lower case
    reason               text,
    -- train or held_out, accepted ones only
    fold                 text check (fold in ('train', 'held_out')),
    created_at           timestamptz      not null,
    primary key (training_run, position),
    unique (training_run, run_id, round, candidate),
    check (accepted = (reason is null)),
    check (not accepted or (prompt_token_ids is not null and completion_token_ids is not null and fold is not null))
);
