package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.jspecify.annotations.Nullable;

/**
 * Answer of a check.
 *
 * @param code null when the harness passed; else a code of the stages STATIC or SMOKE
 * @param message one sentence for a person, with the line
 * @param line 1-based line of the harness, where known
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record CheckResult(
        @Nullable OutcomeCode code,
        @Nullable String message,
        @Nullable Integer line) {
    /** The harness passed. */
    public static final CheckResult PASSED = new CheckResult(null, null, null);
}
