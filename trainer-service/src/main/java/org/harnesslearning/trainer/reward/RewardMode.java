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
    DELTA_DEV;

    /** Name in JSON and in the table, lower case. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether the parent's score is needed. */
    public boolean delta() {
        return this != ABSOLUTE;
    }
}
