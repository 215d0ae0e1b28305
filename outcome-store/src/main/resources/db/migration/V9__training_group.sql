-- What trainer-service samples from a policy and how it came out: training reads it from here alone.

-- One state, one prompt, K samples: one revision of proposer-service. Supervised runs order their teachers' edits so too.
create table training_group (
    training_run         text        not null references training_run on delete cascade,
    -- counts up from 1 and is never used again, nor are the seeds that come from it
    number               bigint      not null,
    -- the batch that trains on it, from 0
    batch                bigint      not null,
    -- several steps: the lane whose states follow each other, and how many selections lie behind this one
    lane                 int         not null,
    depth                int         not null,
    family               text        not null,
    item_seed            bigint      not null,
    sampling_seed        bigint      not null,
    -- the harness that is edited
    harness              text        not null,
    -- as whom the policy was asked
    model                text        not null,
    model_version        text        not null,
    policy_step          bigint      not null,
    reward_mode          text        not null,
    -- body of the request, so that it can be made again word by word
    request              jsonb       not null,
    -- ordered, sampled or failed
    state                text        not null check (state in ('ordered', 'sampled', 'failed')),
    -- the revision; it may be deleted later
    run_id               text,
    -- how often the group was given up and asked for again
    attempt              int         not null default 0,
    failure              text,
    -- what the solver says of the weights that sampled
    weights_version      text,
    temperature          double precision,
    prompt_version       text,
    report_version       text,
    descriptions_version text,
    prompt_token_ids     jsonb,
    -- the parent's mean on the questions of the reward, where the mode or the selection needs it
    baseline             double precision,
    -- the harness that goes on, several steps only
    chosen               text,
    ordered_at           timestamptz not null,
    finished_at          timestamptz,
    primary key (training_run, number)
);

create index training_group_by_batch on training_group (training_run, batch);

create table training_sample (
    training_run         text   not null,
    number               bigint not null,
    candidate            int    not null,
    seed                 bigint not null,
    completion_token_ids jsonb,
    -- of the sampler at its temperature, by token
    logprobs             jsonb,
    finish_reason        text,
    -- hash of the edited harness
    harness              text,
    outcome              text,
    code                 text,
    -- on the questions of the reward
    score                double precision,
    -- null where it has none: reason says why
    reward               double precision,
    reward_with_bonus    double precision,
    valid                boolean not null,
    reason               text,
    primary key (training_run, number, candidate),
    foreign key (training_run, number) references training_group on delete cascade,
    check ((reward is null) = (reward_with_bonus is null)),
    check ((reward is null) = (reason is not null))
);

-- What a training run had executed: revisions and evaluations carry its id as a label.
create index run_by_training on run ((settings #>> '{labels,training_run}'));
