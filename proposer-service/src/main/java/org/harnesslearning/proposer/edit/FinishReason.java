package org.harnesslearning.proposer.edit;

import org.jspecify.annotations.Nullable;

/** Why the model stopped writing, as far as it matters to an edit. */
public enum FinishReason {
    /** The model ended its reply by itself or at a stop string. */
    STOP,
    /** The reply was cut at the token limit. */
    LENGTH;

    /**
     * Reads the {@code finish_reason} of an OpenAI-compatible chat completion.
     *
     * @param value the wire value; only {@code length} means a cut reply, anything else (also none) counts as a stop
     */
    public static FinishReason of(@Nullable String value) {
        return "length".equals(value) ? LENGTH : STOP;
    }
}
