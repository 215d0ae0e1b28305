package org.harnesslearning.tasks.statistics;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13) of a mean. Questions
 * are resampled; a gain is resampled as its per-question differences, so that it stays paired.
 */
public final class Bootstrap {
    /** Number of resamples. */
    public static final int RESAMPLES = 10_000;

    private Bootstrap() {}

    /**
     * Interval of the mean; a single value gives an interval of width 0.
     *
     * @param values by question, at least one
     * @param seed the run's seed: equal values and seed give the equal interval
     */
    public static Interval ofMean(List<Double> values, double level, long seed) {
        double[] data = values.stream().mapToDouble(Double::doubleValue).toArray();
        if (data.length == 0) {
            throw new IllegalArgumentException("no values");
        }
        SplittableRandom random = new SplittableRandom(seed);
        double[] means = new double[RESAMPLES];
        for (int i = 0; i < RESAMPLES; i++) {
            double sum = 0;
            for (int draw = 0; draw < data.length; draw++) {
                sum += data[random.nextInt(data.length)];
            }
            means[i] = sum / data.length;
        }
        Arrays.sort(means);
        double tail = (1 - level) / 2;
        return new Interval(level, quantile(means, tail), quantile(means, 1 - tail));
    }

    /** Quantile of sorted values by linear interpolation between order statistics (type 7 of Hyndman and Fan). */
    static double quantile(double[] sorted, double q) {
        double position = q * (sorted.length - 1);
        int below = (int) Math.floor(position);
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
    }
}
