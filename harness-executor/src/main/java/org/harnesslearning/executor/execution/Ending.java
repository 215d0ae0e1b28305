package org.harnesslearning.executor.execution;

import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.jspecify.annotations.Nullable;

/** How an execution ended. */
record Ending(
        ExecutionStatus.State state,
        @Nullable OutcomeCode failure,
        @Nullable String message) {
    static final Ending DONE = new Ending(ExecutionStatus.State.DONE, null, null);
    static final Ending CANCELLED = new Ending(ExecutionStatus.State.CANCELLED, null, "The execution was cancelled");

    static Ending failed(OutcomeCode code, String message) {
        return new Ending(ExecutionStatus.State.FAILED, code, message);
    }

    static Ending budget(String message) {
        return new Ending(ExecutionStatus.State.BUDGET, null, message);
    }
}
