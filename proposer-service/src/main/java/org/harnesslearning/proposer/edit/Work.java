package org.harnesslearning.proposer.edit;

/** Counts the elementary steps of one call, so that tests can check growth without a clock. */
final class Work {
    private long steps;

    void add(long count) {
        steps += count;
    }

    long steps() {
        return steps;
    }
}
