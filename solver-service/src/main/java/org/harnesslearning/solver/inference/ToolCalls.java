package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Tool calls in the form of the Qwen and Hermes families: blocks {@code <tool_call>{"name": …, "arguments": {…}}</tool_call>}
 * at the end of a reply.
 */
public final class ToolCalls {
    /** What begins a block. */
    public static final String OPEN = "<tool_call>";

    private static final String CLOSE = "</tool_call>";

    private ToolCalls() {}

    /** A reply with calls: the text before them, and them. */
    public record Reply(String content, List<ChatRequest.ToolCall> calls) {
        public Reply {
            calls = List.copyOf(calls);
        }
    }

    /** Whether a chat template tells the model to call tools in this form. */
    public static boolean taughtBy(String template) {
        return template.contains(OPEN);
    }

    /**
     * Splits a reply.
     *
     * @param ids the id of each call by its number
     * @return null if the reply has no block, or anything but blocks after the first begins: then it is plain text
     */
    public static @Nullable Reply in(String text, IntFunction<String> ids) {
        int first = text.indexOf(OPEN);
        if (first < 0) {
            return null;
        }
        List<ChatRequest.ToolCall> calls = new ArrayList<>();
        String rest = text.substring(first);
        while (!rest.isBlank()) {
            rest = rest.strip();
            if (!rest.startsWith(OPEN)) {
                return null;
            }
            int end = rest.indexOf(CLOSE);
            // The model may end its turn in place of the last closing tag.
            String body = rest.substring(OPEN.length(), end < 0 ? rest.length() : end);
            ChatRequest.Function function = function(body);
            if (function == null) {
                return null;
            }
            calls.add(new ChatRequest.ToolCall(ids.apply(calls.size()), "function", function));
            rest = end < 0 ? "" : rest.substring(end + CLOSE.length());
        }
        return new Reply(text.substring(0, first).stripTrailing(), calls);
    }

    private static ChatRequest.@Nullable Function function(String body) {
        try {
            JsonNode call = Json.mapper().readTree(body);
            JsonNode name = call.path("name");
            JsonNode arguments = call.path("arguments");
            if (!name.isString() || name.asString().isBlank() || !(arguments.isObject() || arguments.isString())) {
                return null;
            }
            return new ChatRequest.Function(
                    name.asString(), arguments.isString() ? arguments.asString() : arguments.toString());
        } catch (JacksonException e) {
            return null;
        }
    }

    /**
     * A call of an earlier reply as templates want it: its arguments as an object, where they are the text of one.
     *
     * @param call as the OpenAI API writes it
     */
    @SuppressWarnings("unchecked") // a JSON object
    static Map<String, Object> forTemplate(Map<String, Object> call) {
        ObjectNode copy = Json.mapper().valueToTree(call);
        if (copy.path("function") instanceof ObjectNode function
                && function.path("arguments").isString()) {
            try {
                JsonNode arguments =
                        Json.mapper().readTree(function.path("arguments").asString());
                if (arguments.isObject()) {
                    function.set("arguments", arguments);
                }
            } catch (JacksonException e) {
                // A model's own broken arguments are shown to it as they were.
            }
        }
        return Json.mapper().convertValue(copy, Map.class);
    }
}
