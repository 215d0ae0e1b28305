package org.harnesslearning.tasks.statistics;

import java.util.List;

/**
 * A/A noise: one harness scored twice on the same questions.
 *
 * @param repeats number of scorings, 2
 * @param meanAbsDiff mean over the questions of the absolute difference
 * @param meanDiff difference of the two means, second minus first
 */
public record Noise(int repeats, double meanAbsDiff, double meanDiff) {
    /** Noise of two scorings, by question in the same order. */
    public static Noise of(List<Double> first, List<Double> second) {
        List<Double> differences = Gain.differences(first, second);
        return new Noise(
                2, ScoreSummary.mean(differences.stream().map(Math::abs).toList()), ScoreSummary.mean(differences));
    }
}
