package org.harnesslearning.contracts.execution;

/** Model use of one role: calls, tokens, and milliseconds spent in calls. */
public record Usage(long calls, long promptTokens, long completionTokens, long ms) {
    public static final Usage ZERO = new Usage(0, 0, 0, 0);

    /** Sum of both. */
    public Usage plus(Usage other) {
        return new Usage(
                calls + other.calls,
                promptTokens + other.promptTokens,
                completionTokens + other.completionTokens,
                ms + other.ms);
    }
}
