package org.harnesslearning.trainer.grpo;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import java.util.Locale;

/**
 * From a group's rewards to its members' advantages.
 *
 * <p>Members without a reward leave the group before anything is computed. What remains is dropped as a whole when it is
 * too small or when its rewards lie within {@code minRange} of each other: a standard deviation is almost never exactly
 * 0 in floating point, and dividing by such a one blows noise up.
 *
 * @param minRange largest minus smallest reward must exceed this; at least 0
 * @param minMembers fewest members with a reward; at least 2
 */
public record GroupRule(Normalization normalization, double minRange, int minMembers) {
    /** Difference of rewards that is still noise where the settings name none. */
    public static final double DEFAULT_MIN_RANGE = 1e-6;

    public GroupRule {
        if (!(minRange >= 0) || minMembers < 2) {
            throw new IllegalArgumentException("a group has at least 2 members and a range of at least 0");
        }
    }

    /** What becomes of a group. */
    public sealed interface Admission {
        /**
         * It trains.
         *
         * @param advantages by member; no number where the member has no reward
         * @param members how many have one
         */
        record Admitted(double[] advantages, int members) implements Admission {}

        /** It does not train, none of its members does. */
        record Dropped(Cause cause, int members) implements Admission {}
    }

    /** Why a group is dropped. */
    public enum Cause {
        /** Fewer members with a reward than needed. */
        TOO_SMALL,
        /** All rewards are equal but for noise. */
        ZERO_SPREAD;

        /** Name in JSON and in counts, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Admits or drops a group.
     *
     * @param rewards by member; anything but a finite number means that the member has none
     */
    public Admission admit(double[] rewards) {
        double[] given = Arrays.stream(rewards).filter(Double::isFinite).toArray();
        if (given.length < minMembers) {
            return new Admission.Dropped(Cause.TOO_SMALL, given.length);
        }
        double smallest = Arrays.stream(given).min().orElseThrow();
        double largest = Arrays.stream(given).max().orElseThrow();
        if (largest - smallest <= minRange) {
            return new Admission.Dropped(Cause.ZERO_SPREAD, given.length);
        }
        double mean = mean(given);
        double scale = switch (normalization) {
            case MEAN -> 1;
            case STD -> deviation(given, mean);
        };
        double[] advantages = new double[rewards.length];
        for (int i = 0; i < rewards.length; i++) {
            advantages[i] = Double.isFinite(rewards[i]) ? (rewards[i] - mean) / scale : Double.NaN;
        }
        return new Admission.Admitted(advantages, given.length);
    }

    private static double mean(double[] values) {
        return Arrays.stream(values).sum() / values.length;
    }

    private static double deviation(double[] values, double mean) {
        double squares = 0;
        for (double value : values) {
            squares += (value - mean) * (value - mean);
        }
        return Math.sqrt(squares / (values.length - 1));
    }
}
