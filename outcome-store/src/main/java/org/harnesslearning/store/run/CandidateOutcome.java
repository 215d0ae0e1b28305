package org.harnesslearning.store.run;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** How a candidate ended. */
public enum CandidateOutcome {
    SCORED,
    INVALID,
    INFRA_FAILURE,
    /** Cut off by the budget or a cancellation: outside the attempted ones, never chosen. */
    NOT_FINISHED;

    /** Name in JSON and in the table, lower case. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }
}
