package org.harnesslearning.tasks.statistics;

/**
 * A confidence interval.
 *
 * @param level such as 0.95
 */
public record Interval(double level, double low, double high) {
    public Interval {
        if (!(level > 0 && level < 1) || !(low <= high)) {
            throw new IllegalArgumentException("no interval: " + level + ", " + low + ", " + high);
        }
    }
}
