package org.harnesslearning.store.run;

import java.util.List;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Split;
import org.jspecify.annotations.Nullable;

/**
 * One harness on one split.
 *
 * @param id name of the execution, such as {@code adp_…/r1/c0/dev/0}
 * @param candidate index within the round, where it is a candidate's
 * @param questions how many it has
 * @param attempts how often it failed for infrastructure
 * @param results committed questions, in item order
 * @param failure infrastructure code, when it ended so
 */
public record EvaluationRow(
        String id,
        int round,
        @Nullable Integer candidate,
        Role role,
        Split split,
        int repeat,
        String harness,
        int questions,
        State state,
        int attempts,
        List<MeasuredQuestion> results,
        @Nullable OutcomeCode failure,
        @Nullable String message) {
    /** Why it is measured. */
    public enum Role {
        /** The starting harness. */
        SEED,
        /** The harness that a round edits, on the feedback questions. */
        INCUMBENT,
        CANDIDATE,
        /** The chosen harness, held out. */
        RESULT,
        /** A demonstration's own harness, held out. */
        DEMONSTRATION,
        /** The starting harness under another repeat. */
        NOISE
    }

    /** Where it stands. */
    public enum State {
        RUNNING,
        DONE,
        FAILED,
        /** Cut off by the run's budget; results are kept. */
        BUDGET
    }

    public EvaluationRow {
        results = List.copyOf(results);
    }
}
