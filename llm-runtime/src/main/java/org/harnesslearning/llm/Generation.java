package org.harnesslearning.llm;

import java.util.concurrent.CompletableFuture;

/** A submitted request. */
public interface Generation {

    /**
     * Completes when all samples have ended, also after {@link #cancel()}; fails with {@link GenerationException} when
     * the engine could not go on with this request, with {@link ModelClosedException} when the model was closed.
     */
    CompletableFuture<GenerationResult> result();

    /** Ends all samples before their next token, with {@link FinishReason#CANCELLED}; no effect once finished. */
    void cancel();
}
