package org.harnesslearning.executor.sandbox;

import org.jspecify.annotations.Nullable;

/** No usable Docker engine: the executor refuses to start, since there is no unsandboxed mode. */
public final class DockerUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    DockerUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
