package org.harnesslearning.contracts.outcome;

import static org.harnesslearning.contracts.outcome.OutcomeStage.APPLY;
import static org.harnesslearning.contracts.outcome.OutcomeStage.INFRA;
import static org.harnesslearning.contracts.outcome.OutcomeStage.PARSE;
import static org.harnesslearning.contracts.outcome.OutcomeStage.RUN;
import static org.harnesslearning.contracts.outcome.OutcomeStage.SMOKE;
import static org.harnesslearning.contracts.outcome.OutcomeStage.STATIC;

/** Why a candidate is invalid or could not be judged. Codes of the stages PARSE and APPLY are the edit contract's. */
public enum OutcomeCode {
    TOO_LARGE(PARSE),
    TRUNCATED_REPLY(PARSE),
    MISSING_DIVIDER(PARSE),
    MALFORMED_MARKERS(PARSE),
    UNCLOSED_BLOCK(PARSE),
    NO_BLOCK(PARSE),
    UNKNOWN_FILE(APPLY),
    EMPTY_SEARCH(APPLY),
    SEARCH_NOT_FOUND(APPLY),
    AMBIGUOUS(APPLY),
    PROTECTED_REGION(APPLY),
    NO_CHANGE(APPLY),
    SYNTAX_ERROR(STATIC),
    FORBIDDEN_CONSTRUCT(STATIC),
    MISSING_ENTRY_POINT(STATIC),
    LEAK_SUSPECT(STATIC),
    IMPORT_ERROR(SMOKE),
    SMOKE_ERROR(SMOKE),
    SMOKE_TIMEOUT(SMOKE),
    ALL_QUESTIONS_ERROR(RUN),
    TIMEOUT(RUN),
    CALL_BUDGET(RUN),
    MEMORY(RUN),
    OUTPUT_LIMIT(RUN),
    SANDBOX_VIOLATION(RUN),
    SOLVER_UNAVAILABLE(INFRA),
    PROPOSER_UNAVAILABLE(INFRA),
    TOOL_UNAVAILABLE(INFRA),
    SANDBOX_FAULT(INFRA),
    WORKER_LOST(INFRA),
    STORE_ERROR(INFRA);

    private final OutcomeStage stage;

    OutcomeCode(OutcomeStage stage) {
        this.stage = stage;
    }

    public OutcomeStage stage() {
        return stage;
    }
}
