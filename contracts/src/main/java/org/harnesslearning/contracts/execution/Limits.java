package org.harnesslearning.contracts.execution;

/**
 * Limits of one question, set by the platform and not changeable by a harness.
 *
 * @param solverCallsPerQuestion most calls of {@code env.llm} a question
 * @param questionWallClockS seconds a question may run; the clock stops while a brokered call is pending
 * @param memoryMib memory of the container in MiB
 */
public record Limits(int solverCallsPerQuestion, int questionWallClockS, int memoryMib) {
    /** Defaults of the public API. */
    public static final Limits DEFAULTS = new Limits(12, 60, 256);
}
