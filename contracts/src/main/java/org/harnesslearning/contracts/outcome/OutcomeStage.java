package org.harnesslearning.contracts.outcome;

/** Where on its way a candidate ended. */
public enum OutcomeStage {
    PARSE,
    APPLY,
    STATIC,
    SMOKE,
    RUN,
    INFRA
}
