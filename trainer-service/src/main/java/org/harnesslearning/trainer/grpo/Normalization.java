package org.harnesslearning.trainer.grpo;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** How rewards of a group become advantages. */
public enum Normalization {
    /** (reward − mean) / sample standard deviation. */
    STD,
    /** reward − mean. */
    MEAN;

    /** Name in JSON, lower case. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }
}
