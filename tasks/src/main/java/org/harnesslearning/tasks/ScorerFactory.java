package org.harnesslearning.tasks;

import java.util.Map;

/** Makes the scorers of one name. */
public interface ScorerFactory {
    /** Name as in {@link org.harnesslearning.contracts.task.ScorerRef#name()}. */
    String name();

    /** Version of the scoring rule; part of the evaluation cache key, so it changes whenever any score may change. */
    String version();

    /**
     * Makes a scorer.
     *
     * @param options JSON values
     * @throws InvalidOptionException for an option that is unknown or has a wrong value
     */
    Scorer create(Map<String, Object> options);

    /** An option of a scorer that can't be used. */
    final class InvalidOptionException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final String option;

        /**
         * @param option name of the option
         * @param message one sentence for a person
         */
        public InvalidOptionException(String option, String message) {
            super(message);
            this.option = option;
        }

        /** Name of the option. */
        public String option() {
            return option;
        }
    }
}
