package org.harnesslearning.solver.inference;

import java.util.List;
import java.util.Map;
import org.harnesslearning.llm.chat.ChatMessage;
import org.jspecify.annotations.Nullable;

/**
 * A validated chat completion request.
 *
 * @param tools tool descriptions, passed to the chat template
 * @param maxTokens most new tokens a reply; null: what the context leaves
 * @param seed null: chosen by the back-end
 * @param seeds one a reply, or empty
 * @param topLogprobs alternatives a token; 0 for none
 * @param metadata free strings; recorded models read {@code positions}
 */
public record ChatCall(
        String model,
        List<ChatMessage> messages,
        List<Map<String, Object>> tools,
        @Nullable Integer maxTokens,
        double temperature,
        double topP,
        int topK,
        double repetitionPenalty,
        int n,
        @Nullable Long seed,
        List<Long> seeds,
        List<String> stop,
        boolean logprobs,
        int topLogprobs,
        boolean returnTokenIds,
        boolean continueFinalMessage,
        Map<String, String> metadata) {
    public ChatCall {
        messages = List.copyOf(messages);
        tools = List.copyOf(tools);
        seeds = List.copyOf(seeds);
        stop = List.copyOf(stop);
        metadata = Map.copyOf(metadata);
    }
}
