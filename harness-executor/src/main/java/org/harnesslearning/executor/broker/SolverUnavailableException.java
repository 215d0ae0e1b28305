package org.harnesslearning.executor.broker;

import org.jspecify.annotations.Nullable;

/** The solver gave no answer for reasons that do not lie in the harness: an infrastructure failure, never a score. */
public final class SolverUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    SolverUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
