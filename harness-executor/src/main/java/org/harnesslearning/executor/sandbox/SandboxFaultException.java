package org.harnesslearning.executor.sandbox;

import org.jspecify.annotations.Nullable;

/** The engine or a container failed for reasons that do not lie in the program: an infrastructure failure, never a score. */
public final class SandboxFaultException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public SandboxFaultException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
