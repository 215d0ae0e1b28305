package org.harnesslearning.solver.inference;

/** Receives the text of replies piece by piece. */
@FunctionalInterface
public interface DeltaSink {
    /** Ignores everything. */
    DeltaSink NONE = (choice, text) -> {};

    /**
     * New text of a choice; returns at once, since it runs on the thread that makes the tokens.
     *
     * @param choice index of the reply
     * @param text what was added
     */
    void accept(int choice, String text);
}
