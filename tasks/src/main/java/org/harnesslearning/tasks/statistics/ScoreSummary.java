package org.harnesslearning.tasks.statistics;

import java.util.List;

/**
 * Score of a harness on a split.
 *
 * @param mean mean score
 * @param strict share of questions with score 1.0
 * @param n number of questions
 * @param ci percentile bootstrap of the mean
 * @param strictCi Wilson's interval of the strict rate
 */
public record ScoreSummary(double mean, double strict, int n, Interval ci, Interval strictCi) {
    /**
     * Summary of questions.
     *
     * @param scores by question, at least one
     * @param strict by question
     */
    public static ScoreSummary of(List<Double> scores, List<Boolean> strict, double level, long seed) {
        long successes = strict.stream().filter(Boolean::booleanValue).count();
        return new ScoreSummary(
                mean(scores),
                (double) successes / scores.size(),
                scores.size(),
                Bootstrap.ofMean(scores, level, seed),
                Wilson.interval(successes, scores.size(), level));
    }

    static double mean(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).sum() / values.size();
    }
}
