package org.harnesslearning.contracts.outcome;

import java.util.List;
import java.util.Objects;

/** How one candidate ended; exactly one of the three forms. */
public sealed interface Outcome {
    /** The edit or the program is at fault; never scored. */
    record Invalid(OutcomeCode code, String message) implements Outcome {
        public Invalid {
            Objects.requireNonNull(message, "message");
            if (code.stage() == OutcomeStage.INFRA) {
                throw new IllegalArgumentException(code + " is an infrastructure code");
            }
        }
    }

    /** The platform is at fault; missing, never a reward. */
    record InfraFailure(OutcomeCode code, String message) implements Outcome {
        public InfraFailure {
            Objects.requireNonNull(message, "message");
            if (code.stage() != OutcomeStage.INFRA) {
                throw new IllegalArgumentException(code + " is no infrastructure code");
            }
        }
    }

    /**
     * The harness ran.
     *
     * @param mean mean of the questions' scores, 0 to 1
     * @param strict share of questions with score 1.0
     * @param scores score by question, in item order
     */
    record Scored(double mean, double strict, List<Double> scores) implements Outcome {
        public Scored {
            scores = List.copyOf(scores);
            if (scores.isEmpty() || !(mean >= 0 && mean <= 1) || !(strict >= 0 && strict <= 1)) {
                throw new IllegalArgumentException("a scored outcome has questions and values from 0 to 1");
            }
        }

        /** Number of questions. */
        public int n() {
            return scores.size();
        }
    }
}
