package org.harnesslearning.proposer.adaptation;

import java.util.List;
import org.harnesslearning.proposer.gate.Flip;
import org.harnesslearning.proposer.gate.Verdict;
import org.harnesslearning.tasks.statistics.Gain;
import org.harnesslearning.tasks.statistics.Gate;
import org.harnesslearning.tasks.statistics.Interval;
import org.harnesslearning.tasks.statistics.Noise;
import org.harnesslearning.tasks.statistics.ScoreSummary;
import org.jspecify.annotations.Nullable;

/**
 * What an adaptation found.
 *
 * @param harness hash of the chosen harness
 * @param noise the starting harness against itself; null where it was not measured
 * @param gateReasons why the gate failed, one sentence each
 * @param flips dev and held-out questions that went from right to wrong
 * @param regression what became of the regression set; null without one
 */
record AdaptationResult(
        String harness,
        HeldOut heldOut,
        @Nullable Noise noise,
        Gate gate,
        List<String> gateReasons,
        List<Flip> flips,
        Verdict.@Nullable Regression regression) {
    /**
     * Held-out scores; null where not measured.
     *
     * @param demonstration the best of the demonstrations' own harnesses
     * @param demonstrations all that were measured
     */
    record HeldOut(
            @Nullable ScoreSummary seed,
            @Nullable ScoreSummary result,
            @Nullable Named demonstration,
            List<Named> demonstrations,
            @Nullable Gain gain) {}

    /** Score of a demonstration's own harness. */
    record Named(String name, double mean, double strict, int n, Interval ci, Interval strictCi) {
        static Named of(String name, ScoreSummary score) {
            return new Named(name, score.mean(), score.strict(), score.n(), score.ci(), score.strictCi());
        }
    }
}
