package org.harnesslearning.tasks.statistics;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Verdict on a gain: passed when its mean is at least the minimum and its lower bound is above 0. */
public enum Gate {
    PASSED,
    FAILED,
    /** No gate was asked for. */
    NONE;

    /**
     * The verdict.
     *
     * @param gain null when the held-out measurement did not end: that fails
     * @param recorded replies from a file never pass
     * @param tooExpensive whether the run cost more than its gate allows
     */
    public static Gate judge(@Nullable Gain gain, double minGain, boolean recorded, boolean tooExpensive) {
        boolean passed = gain != null && gain.mean() >= minGain && gain.ci().low() > 0 && !recorded && !tooExpensive;
        return passed ? PASSED : FAILED;
    }

    /** Name in JSON, lower case. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }
}
