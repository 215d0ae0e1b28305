package org.harnesslearning.solver.catalog;

/** Told how a fetch goes. */
public interface FetchProgress {
    /** A line for a person. */
    void say(String line);

    /**
     * Bytes so far, of the model's total.
     *
     * @param what what is being done, such as {@code part 3 of 22}
     */
    void at(String what, long done, long total);

    /** The counted work has ended, well or not. */
    void end();
}
