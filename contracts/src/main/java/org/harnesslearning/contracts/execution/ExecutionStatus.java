package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Locale;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.jspecify.annotations.Nullable;

/**
 * State of an execution.
 *
 * @param results committed results so far, in item order; all items when {@code state} is {@code done}
 * @param cached how many of them were stored before this execution began
 * @param failure infrastructure code when {@code state} is {@code failed}
 * @param message one sentence for a person when failed
 * @param sandboxGaps names of protections that the executor's host lacks and its settings accept; empty on a sound host
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record ExecutionStatus(
        String id,
        State state,
        List<QuestionResult> results,
        int cached,
        @Nullable OutcomeCode failure,
        @Nullable String message,
        List<String> sandboxGaps) {
    /** Where the work stands. */
    public enum State {
        RUNNING,
        DONE,
        /** Infrastructure failure; finished questions are kept. */
        FAILED,
        /** The run's budget ended it; finished questions are kept. */
        BUDGET,
        CANCELLED;

        /** Name in JSON, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public ExecutionStatus {
        results = List.copyOf(results);
        sandboxGaps = List.copyOf(sandboxGaps);
    }

    /** On a sound host. */
    public ExecutionStatus(
            String id,
            State state,
            List<QuestionResult> results,
            int cached,
            @Nullable OutcomeCode failure,
            @Nullable String message) {
        this(id, state, results, cached, failure, message, List.of());
    }
}
