package org.harnesslearning.tasks;

import org.jspecify.annotations.Nullable;

/**
 * The scorer itself failed: its sandbox died, timed out or gave no valid score. An infrastructure failure, which is
 * never a score; trying again may help.
 */
public final class ScoringException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ScoringException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    public ScoringException(String message) {
        this(message, null);
    }
}
