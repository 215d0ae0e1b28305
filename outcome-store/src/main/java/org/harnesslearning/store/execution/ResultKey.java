package org.harnesslearning.store.execution;

import java.util.Objects;

/**
 * Key of an evaluation: equal keys have equal meaning, so a result is computed once and shared by all runs.
 *
 * @param scorerHash hash of the scorer's name, version and options
 */
public record ResultKey(String harnessHash, String itemHash, int repeat, String solverHash, String scorerHash) {
    public ResultKey {
        Objects.requireNonNull(harnessHash, "harnessHash");
        Objects.requireNonNull(itemHash, "itemHash");
        Objects.requireNonNull(solverHash, "solverHash");
        Objects.requireNonNull(scorerHash, "scorerHash");
        if (repeat < 0) {
            throw new IllegalArgumentException("repeat " + repeat + " is negative");
        }
    }
}
