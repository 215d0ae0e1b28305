package org.harnesslearning.solver.inference;

/** Receives replies piece by piece. */
@FunctionalInterface
public interface DeltaSink {
    /** Ignores everything. */
    DeltaSink NONE = delta -> {};

    /** Takes a piece; returns at once, since it runs on the thread that makes the tokens. */
    void accept(Delta delta);
}
