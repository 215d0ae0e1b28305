package org.harnesslearning.contracts.task;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** The three disjoint sets of a task's items. */
public enum Split {
    /** Shown to the proposer in the report. */
    FEEDBACK,
    /** Rewards and selection. */
    DEV,
    /** Measured once at the end. */
    HELD_OUT;

    /** Name in JSON: {@code feedback}, {@code dev}, {@code held_out}. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }
}
