package org.harnesslearning.proposer.evaluation;

import java.util.List;
import org.harnesslearning.proposer.gate.Flip;
import org.harnesslearning.proposer.gate.Verdict;
import org.harnesslearning.tasks.statistics.Gain;
import org.harnesslearning.tasks.statistics.Gate;
import org.harnesslearning.tasks.statistics.ScoreSummary;
import org.jspecify.annotations.Nullable;

/**
 * What an evaluation found beside its score.
 *
 * @param baseline the harness that the gain is measured against; null without one
 * @param gain null without a baseline and where one of the two was not measured in full
 */
record EvaluationResult(
        @Nullable Baseline baseline,
        @Nullable Gain gain,
        Gate gate,
        List<String> gateReasons,
        List<Flip> flips,
        Verdict.@Nullable Regression regression) {
    /** Score of another harness on the same questions. */
    record Baseline(String harness, @Nullable ScoreSummary score) {}
}
