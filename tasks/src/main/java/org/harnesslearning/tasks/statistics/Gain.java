package org.harnesslearning.tasks.statistics;

import java.util.ArrayList;
import java.util.List;

/** Mean difference of two harnesses on the same questions, with its paired interval. */
public record Gain(double mean, Interval ci) {
    /** Gain of {@code after} over {@code before}, both by question in the same order. */
    public static Gain paired(List<Double> before, List<Double> after, double level, long seed) {
        List<Double> differences = differences(before, after);
        return new Gain(ScoreSummary.mean(differences), Bootstrap.ofMean(differences, level, seed));
    }

    static List<Double> differences(List<Double> before, List<Double> after) {
        if (before.size() != after.size()) {
            throw new IllegalArgumentException("paired scores have equal lengths");
        }
        List<Double> differences = new ArrayList<>();
        for (int i = 0; i < before.size(); i++) {
            differences.add(after.get(i) - before.get(i));
        }
        return differences;
    }
}
