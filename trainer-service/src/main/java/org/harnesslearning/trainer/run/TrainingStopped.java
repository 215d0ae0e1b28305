package org.harnesslearning.trainer.run;

/**
 * Leaves a step in its middle, because the run is cancelled or deleted or this process shuts down; where it only waits, also
 * because the run is to pause.
 */
public final class TrainingStopped extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** One sentence why. */
    public TrainingStopped(String message) {
        super(message, null, false, false);
    }
}
