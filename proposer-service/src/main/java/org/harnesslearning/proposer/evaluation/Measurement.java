package org.harnesslearning.proposer.evaluation;

import java.util.List;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.outcome.OutcomeCode;

/** How an evaluation ended. */
public sealed interface Measurement {
    /** All questions have results. */
    record Done(List<QuestionResult> results) implements Measurement {
        public Done {
            results = List.copyOf(results);
        }

        /** Scores by question, in item order. */
        public List<Double> scores() {
            return results.stream().map(QuestionResult::score).toList();
        }

        /** Whether each score is 1.0. */
        public List<Boolean> strict() {
            return results.stream().map(QuestionResult::strict).toList();
        }

        /** Mean score. */
        public double mean() {
            return results.stream().mapToDouble(QuestionResult::score).sum() / results.size();
        }
    }

    /** The platform failed, again and again; finished questions are kept. */
    record Failed(OutcomeCode code, String message, int attempts) implements Measurement {}

    /** The budget ended it; finished questions are kept. */
    record CutOff(String message) implements Measurement {}
}
