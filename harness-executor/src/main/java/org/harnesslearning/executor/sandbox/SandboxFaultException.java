package org.harnesslearning.executor.sandbox;

import org.jspecify.annotations.Nullable;

/** The engine or a container failed for reasons that do not lie in the program: an infrastructure failure, never a score. */
public final class SandboxFaultException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final boolean ownEnd;

    public SandboxFaultException(String message, @Nullable Throwable cause) {
        this(message, cause, false);
    }

    SandboxFaultException(String message, @Nullable Throwable cause, boolean ownEnd) {
        super(message, cause);
        this.ownEnd = ownEnd;
    }

    /** As {@link SandboxResult.SandboxFault#ownEnd()}. */
    public boolean ownEnd() {
        return ownEnd;
    }
}
