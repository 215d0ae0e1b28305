package org.harnesslearning.llm.chat;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One turn of a conversation.
 *
 * @param role {@code system}, {@code user}, {@code assistant} or {@code tool}
 * @param content text; null only for an assistant turn that consists of tool calls
 * @param toolCalls calls made by an assistant turn, as the OpenAI API writes them; values are strings, numbers, booleans,
 *     lists and maps
 * @param toolCallId the call that a {@code tool} turn answers
 */
public record ChatMessage(
        String role,
        @Nullable String content,
        List<Map<String, Object>> toolCalls,
        @Nullable String toolCallId) {
    public ChatMessage {
        toolCalls = List.copyOf(toolCalls);
    }

    /** A turn of plain text. */
    public static ChatMessage of(String role, String content) {
        return new ChatMessage(role, content, List.of(), null);
    }

    /** As a template sees it. */
    Map<String, Object> asVariables(java.util.function.UnaryOperator<String> text) {
        Map<String, Object> variables = new LinkedHashMap<>();
        variables.put("role", text.apply(role));
        variables.put("content", content == null ? Values.NONE : text.apply(content));
        if (!toolCalls.isEmpty()) {
            List<Object> calls = new ArrayList<>();
            toolCalls.forEach(call -> calls.add(Values.mapped(call, text)));
            variables.put("tool_calls", calls);
        }
        if (toolCallId != null) {
            variables.put("tool_call_id", text.apply(toolCallId));
        }
        return variables;
    }
}
