package org.harnesslearning.llm;

/** Why a completion ended. */
public enum FinishReason {
    /** An end token, a stop token, or the listener's wish. */
    STOP,
    /** {@code maxTokens} reached. */
    LENGTH,
    /** {@link Generation#cancel()}. */
    CANCELLED,
    /** The engine failed. */
    ERROR
}
