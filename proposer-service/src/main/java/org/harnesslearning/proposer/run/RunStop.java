package org.harnesslearning.proposer.run;

/** Leaves a run's work between two units; what is committed stays. */
public final class RunStop extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Why the work is left. */
    public enum Reason {
        /** The user wants a pause. */
        PAUSE,
        /** The user wants it to end. */
        CANCEL,
        /** A provider failed repeatedly and nothing else of the same step succeeded. */
        OUTAGE,
        /** Calls, tokens or wall clock are used up. */
        BUDGET,
        /** This process shuts down; another worker goes on. */
        DRAIN,
        /** The run was deleted. */
        GONE
    }

    private final Reason reason;
    private final String why;

    public RunStop(Reason reason, String message) {
        super(message, null, false, false);
        this.reason = reason;
        this.why = message;
    }

    /** One sentence for a person. */
    public String why() {
        return why;
    }

    public Reason reason() {
        return reason;
    }
}
