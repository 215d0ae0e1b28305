package org.harnesslearning.contracts.execution;

/** How one question ended. All but {@link #OK} score 0. */
public enum QuestionCode {
    /** {@code run} returned text, which was scored. */
    OK,
    /** The harness raised, returned no text, or ended its process. */
    ERROR,
    TIMEOUT,
    MEMORY,
    OUTPUT_LIMIT,
    /** More calls than the question's limit. */
    CALL_BUDGET,
    SANDBOX_VIOLATION
}
