package org.harnesslearning.solver.inference;

import java.util.List;
import java.util.Map;
import org.harnesslearning.llm.chat.ChatMessage;

/**
 * A validated chat completion request.
 *
 * @param tools tool descriptions, passed to the chat template
 * @param metadata free strings; recorded models read {@code positions}
 */
public record ChatCall(
        String model,
        List<ChatMessage> messages,
        List<Map<String, Object>> tools,
        boolean continueFinalMessage,
        Decoding decoding,
        Map<String, String> metadata) {
    public ChatCall {
        messages = List.copyOf(messages);
        tools = List.copyOf(tools);
        metadata = Map.copyOf(metadata);
    }
}
