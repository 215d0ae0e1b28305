package org.harnesslearning.trainer.distributed;

/**
 * The ranks can't work together (any more): one was lost, does not answer in time, or was started with other settings.
 * The run's attempt is over on all ranks; the message is for its user.
 */
public final class DistributedException extends RuntimeException {
    /** @param message what happened, which ranks are concerned */
    public DistributedException(String message) {
        super(message);
    }

    /**
     * @param message what happened, which ranks are concerned
     * @param cause as the native library saw it
     */
    public DistributedException(String message, Throwable cause) {
        super(message, cause);
    }
}
