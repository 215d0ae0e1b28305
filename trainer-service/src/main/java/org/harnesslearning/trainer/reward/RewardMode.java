package org.harnesslearning.trainer.reward;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** What is rewarded. */
public enum RewardMode {
    /** The edited harness' score on the dev questions, with bonuses for validity. */
    ABSOLUTE,
    /** Its score minus its parent's, both on the questions that the proposer's report showed; no bonus. */
    DELTA_SAME_BATCH,
    /** Its score minus its parent's, both on the dev questions; no bonus. */
    DELTA_DEV,
    /**
     * The same, but 0 where it is lower: of a parent that is good already, an edit without effect is not the best thing to
     * sample, as it is in the other modes.
     */
    IMPROVEMENT_DEV;

    /** Name in JSON and in the table, lower case. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether the parent's score is needed. */
    public boolean delta() {
        return this != ABSOLUTE;
    }

    /** Whether it is the parent's score on the dev questions that is needed. */
    public boolean parentOnDev() {
        return this == DELTA_DEV || this == IMPROVEMENT_DEV;
    }
}
