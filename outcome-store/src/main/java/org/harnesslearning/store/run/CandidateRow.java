package org.harnesslearning.store.run;

import java.time.Instant;
import java.util.List;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.jspecify.annotations.Nullable;

/**
 * A candidate as stored.
 *
 * @param call the proposer call that it comes from
 * @param reply the model's reply; null before the commit
 * @param logprobs natural logarithms by sampled token
 * @param harness hash of the edited harness; null before or without one
 * @param diff unified diff from the parent
 * @param similarity of the edit to its demonstration's, 0 to 1
 * @param outcome null while it is being judged
 * @param duplicateOf {@code round/candidate} whose score it shares; {@code 0/0} is the starting harness
 */
public record CandidateRow(
        int round,
        int candidate,
        int call,
        @Nullable String demonstration,
        long seed,
        @Nullable String reply,
        @Nullable String finishReason,
        @Nullable List<Integer> tokenIds,
        @Nullable List<Double> logprobs,
        @Nullable String harness,
        @Nullable String tier,
        @Nullable String diff,
        @Nullable Double similarity,
        @Nullable CandidateOutcome outcome,
        @Nullable OutcomeCode code,
        @Nullable String message,
        @Nullable String duplicateOf,
        @Nullable CandidateScore score,
        @Nullable Instant finishedAt) {
    /** Place in the run, {@code round/candidate}. */
    public String place() {
        return round + "/" + candidate;
    }
}
