package org.harnesslearning.tasks.statistics;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Verdict of a gate. A gain passes when its mean is at least the minimum and its lower bound is above 0. */
public enum Gate {
    PASSED,
    FAILED,
    /** No gate was asked for. */
    NONE;

    /**
     * Whether a gain passes.
     *
     * @param gain null when it was not measured: that fails
     */
    public static boolean enough(@Nullable Gain gain, double minGain) {
        return gain != null && gain.mean() >= minGain && gain.ci().low() > 0;
    }

    /**
     * The verdict on a gain.
     *
     * @param gain null when it was not measured: that fails
     * @param recorded replies from a file never pass
     * @param tooExpensive whether the run cost more than its gate allows
     */
    public static Gate judge(@Nullable Gain gain, double minGain, boolean recorded, boolean tooExpensive) {
        return enough(gain, minGain) && !recorded && !tooExpensive ? PASSED : FAILED;
    }

    /** The verdict of a gate by what fails it; no reason passes. */
    public static Gate of(List<String> reasons) {
        return reasons.isEmpty() ? PASSED : FAILED;
    }

    /** Name in JSON, lower case. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }
}
