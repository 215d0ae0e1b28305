package org.harnesslearning.store.sample;

import java.util.List;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.store.run.CandidateOutcome;
import org.jspecify.annotations.Nullable;

/**
 * A sample of a group as stored.
 *
 * @param logprobs natural logarithms by token, at the sampling temperature
 * @param harness hash of the edited harness
 * @param score mean on the questions of the reward
 * @param reward without bonus; null where it has none
 * @param rewardWithBonus null where it has none
 * @param valid whether the edited harness was scored
 * @param reason why there is no reward; lower case
 */
public record SampleRow(
        int candidate,
        long seed,
        @Nullable List<Integer> completionTokenIds,
        @Nullable List<Double> logprobs,
        @Nullable String finishReason,
        @Nullable String harness,
        @Nullable CandidateOutcome outcome,
        @Nullable OutcomeCode code,
        @Nullable Double score,
        @Nullable Double reward,
        @Nullable Double rewardWithBonus,
        boolean valid,
        @Nullable String reason) {
    public SampleRow {
        completionTokenIds = completionTokenIds == null ? null : List.copyOf(completionTokenIds);
        logprobs = logprobs == null ? null : List.copyOf(logprobs);
    }
}
