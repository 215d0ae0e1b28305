package org.harnesslearning.store.run;

import java.time.Instant;
import java.util.List;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;

/**
 * One call of the proposer.
 *
 * @param call 0, 1, … within the round
 * @param candidates indices of the candidates that its replies make, in the order of the samples
 * @param attempts how often it was begun
 * @param promptHash hash of the messages' canonical JSON
 * @param usage tokens by the model's own count; a call with n samples counts n
 * @param committedAt when its replies were committed; null before
 */
public record ProposerCallRow(
        int round,
        int call,
        @Nullable String demonstration,
        List<Integer> candidates,
        int attempts,
        String promptHash,
        List<ChatRequest.Message> messages,
        String model,
        @Nullable String weightsVersion,
        @Nullable List<Integer> promptTokenIds,
        Usage usage,
        @Nullable Instant committedAt) {
    public ProposerCallRow {
        candidates = List.copyOf(candidates);
        messages = List.copyOf(messages);
        promptTokenIds = promptTokenIds == null ? null : List.copyOf(promptTokenIds);
    }
}
