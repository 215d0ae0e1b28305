package org.harnesslearning.trainer.reward;

import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.outcome.OutcomeStage;
import org.harnesslearning.store.run.CandidateOutcome;
import org.jspecify.annotations.Nullable;

/** How a sampled edit ended, as its row says it: the score is not trusted yet. */
public sealed interface Judged {
    /**
     * The edited harness ran.
     *
     * @param mean mean score of its questions; null or no number where the row lacks one
     */
    record Scored(@Nullable Double mean) implements Judged {}

    /** The edit or the program is at fault. */
    record Invalid(OutcomeCode code) implements Judged {
        public Invalid {
            if (code.stage() == OutcomeStage.INFRA) {
                throw new IllegalArgumentException(code + " is no fault of an edit");
            }
        }
    }

    /** The platform is at fault. */
    record InfraFailure(@Nullable OutcomeCode code) implements Judged {}

    /** Cut off by a budget or a cancellation. */
    record NotFinished() implements Judged {}

    /** There is no outcome, or one that contradicts itself. */
    record Unjudged(String detail) implements Judged {}

    /**
     * Reads the columns of a candidate.
     *
     * @param mean mean of the score; for delta modes on the questions that the baseline was measured on
     */
    static Judged of(@Nullable CandidateOutcome outcome, @Nullable OutcomeCode code, @Nullable Double mean) {
        if (outcome == null) {
            return new Unjudged("it has no outcome");
        }
        return switch (outcome) {
            case SCORED -> new Scored(mean);
            case INVALID ->
                code == null || code.stage() == OutcomeStage.INFRA
                        ? new Unjudged("it is invalid under the code " + code)
                        : new Invalid(code);
            case INFRA_FAILURE -> new InfraFailure(code);
            case NOT_FINISHED -> new NotFinished();
        };
    }
}
