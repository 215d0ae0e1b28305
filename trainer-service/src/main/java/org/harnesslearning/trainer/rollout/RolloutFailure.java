package org.harnesslearning.trainer.rollout;

import org.harnesslearning.contracts.error.ErrorCode;

/** A revision or evaluation that came to nothing; the training counts it and goes on. */
public final class RolloutFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorCode code;
    private final String why;

    /**
     * @param code of the service, or what fits best
     * @param message one sentence
     */
    public RolloutFailure(ErrorCode code, String message) {
        super(message, null, false, false);
        this.code = code;
        this.why = message;
    }

    /** One sentence. */
    public String why() {
        return why;
    }

    /** What failed. */
    public ErrorCode code() {
        return code;
    }
}
