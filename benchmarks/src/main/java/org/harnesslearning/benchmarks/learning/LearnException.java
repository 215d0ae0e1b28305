package org.harnesslearning.benchmarks.learning;

import org.jspecify.annotations.Nullable;

/** The experiment can't go on: wrong usage, or an answer of the platform that leaves no way. */
final class LearnException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    LearnException(String message) {
        super(message);
    }

    LearnException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
