package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.harnesslearning.llm.chat.ChatMessage;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Body of {@code POST /v1/chat/completions}: the OpenAI fields that this server knows, and its extensions {@code top_k},
 * {@code min_p}, {@code repetition_penalty}, {@code stop_token_ids}, {@code ignore_eos}, {@code seeds}, {@code
 * return_token_ids} and {@code continue_final_message}. Other fields are refused by name, so that no wish is silently
 * ignored.
 */
record ChatBody(
        @Nullable String model,
        @Nullable List<Message> messages,
        @Nullable Integer maxTokens,
        @Nullable Integer maxCompletionTokens,
        @Nullable Double temperature,
        @Nullable Double topP,
        @Nullable Integer topK,
        @Nullable Double minP,
        @Nullable Double repetitionPenalty,
        @Nullable Double presencePenalty,
        @Nullable Double frequencyPenalty,
        @Nullable Integer n,
        @Nullable Long seed,
        @Nullable List<Long> seeds,
        @Nullable JsonNode stop,
        @Nullable List<Integer> stopTokenIds,
        @Nullable Boolean ignoreEos,
        @Nullable Boolean logprobs,
        @Nullable Integer topLogprobs,
        @Nullable Boolean stream,
        @Nullable StreamOptions streamOptions,
        @Nullable List<Map<String, Object>> tools,
        @Nullable JsonNode toolChoice,
        @Nullable Boolean parallelToolCalls,
        @Nullable ResponseFormat responseFormat,
        @Nullable String user,
        @Nullable Boolean returnTokenIds,
        @Nullable Boolean continueFinalMessage,
        @Nullable Map<String, String> metadata) {
    private static final List<String> ROLES = List.of("system", "developer", "user", "assistant", "tool");

    /** Content is a string or a list of text parts. */
    record Message(
            @Nullable String role,
            @Nullable JsonNode content,
            @Nullable List<Map<String, Object>> toolCalls,
            @Nullable String toolCallId) {}

    record ResponseFormat(@Nullable String type, @Nullable JsonNode jsonSchema) {}

    boolean streams() {
        return Boolean.TRUE.equals(stream);
    }

    boolean streamsUsage() {
        return streamOptions != null && Boolean.TRUE.equals(streamOptions.includeUsage());
    }

    /** All faults at once, or the call. */
    ChatCall validated() {
        Faults faults = new Faults();
        if (model == null || model.isBlank()) {
            faults.add("/model", "A model's name is needed");
        }
        List<ChatMessage> turns = turns(messages, "/messages", faults);
        faults.within("/max_completion_tokens", maxCompletionTokens, 1, Integer.MAX_VALUE);
        if (maxTokens != null && maxCompletionTokens != null && !maxTokens.equals(maxCompletionTokens)) {
            faults.add("/max_tokens", "It contradicts max_completion_tokens");
        }
        faults.within("/top_logprobs", topLogprobs, 0, DecodingFields.MAX_TOP_LOGPROBS);
        if (topLogprobs != null && topLogprobs > 0 && !Boolean.TRUE.equals(logprobs)) {
            faults.add("/top_logprobs", "It needs logprobs");
        }
        if (responseFormat != null && !"text".equals(responseFormat.type())) {
            faults.add(
                    "/response_format",
                    "Only the type text is supported: replies are not constrained to JSON; ask for it in the prompt");
        }
        StreamOptions.usage(streamOptions, stream, faults);
        boolean continues = Boolean.TRUE.equals(continueFinalMessage);
        if (continues && (turns.isEmpty() || !turns.getLast().role().equals("assistant"))) {
            faults.add("/continue_final_message", "The last message is not an assistant's");
        }
        List<Map<String, Object>> offered = tools(tools, faults);
        if (toolChoice != null && toolChoice.isString() && toolChoice.asString().equals("none")) {
            offered = List.of();
        } else if (toolChoice != null
                && !toolChoice.isNull()
                && !(toolChoice.isString() && toolChoice.asString().equals("auto"))) {
            faults.add("/tool_choice", "Only auto and none are supported: replies are not constrained to calls");
        }
        if (Boolean.FALSE.equals(parallelToolCalls)) {
            faults.add("/parallel_tool_calls", "The number of calls in a reply cannot be constrained");
        }
        Decoding decoding = new DecodingFields(
                        maxTokens != null ? maxTokens : maxCompletionTokens,
                        temperature,
                        topP,
                        topK,
                        minP,
                        repetitionPenalty,
                        presencePenalty,
                        frequencyPenalty,
                        n,
                        seed,
                        seeds,
                        stop,
                        stopTokenIds,
                        ignoreEos,
                        returnTokenIds)
                .checked(faults, Boolean.TRUE.equals(logprobs), topLogprobs == null ? 0 : topLogprobs);
        faults.throwIfAny();
        return new ChatCall(
                Objects.requireNonNull(model),
                turns,
                offered,
                continues,
                decoding,
                metadata == null ? Map.of() : metadata);
    }

    /** The tools of a body. */
    static List<Map<String, Object>> tools(@Nullable List<Map<String, Object>> tools, Faults faults) {
        if (tools == null) {
            return List.of();
        }
        for (int i = 0; i < tools.size(); i++) {
            Map<String, Object> tool = tools.get(i);
            if (tool == null
                    || !"function".equals(tool.get("type"))
                    || !(tool.get("function") instanceof Map<?, ?> function)
                    || !(function.get("name") instanceof String)) {
                faults.add("/tools/" + i, "It must have the type function and a function with a name");
                return List.of();
            }
        }
        return tools;
    }

    /** The conversation of a body. */
    static List<ChatMessage> turns(@Nullable List<Message> messages, String pointer, Faults faults) {
        if (messages == null || messages.isEmpty()) {
            faults.add(pointer, "At least one message is needed");
            return List.of();
        }
        List<ChatMessage> turns = new ArrayList<>();
        for (int i = 0; i < messages.size(); i++) {
            Message message = messages.get(i);
            String at = pointer + "/" + i;
            if (message == null || message.role() == null || !ROLES.contains(message.role())) {
                faults.add(at + "/role", "It must be system, user, assistant or tool");
                continue;
            }
            List<Map<String, Object>> calls = message.toolCalls() == null ? List.of() : message.toolCalls();
            String content = text(message.content(), at + "/content", faults);
            if (content == null && calls.isEmpty()) {
                faults.add(at + "/content", "It must be a text");
                continue;
            }
            String role = message.role().equals("developer") ? "system" : message.role();
            turns.add(new ChatMessage(
                    role, content, calls.stream().map(ToolCalls::forTemplate).toList(), message.toolCallId()));
        }
        return turns;
    }

    private static @Nullable String text(@Nullable JsonNode content, String at, Faults faults) {
        if (content == null || content.isNull()) {
            return null;
        }
        if (content.isString()) {
            return content.asString();
        }
        StringBuilder text = new StringBuilder();
        for (JsonNode part : content) {
            if (!"text".equals(part.path("type").asString(""))
                    || !part.path("text").isString()) {
                faults.add(at, "Only parts of type text are supported");
                return "";
            }
            text.append(part.path("text").asString());
        }
        if (!content.isArray()) {
            faults.add(at, "It must be a text or a list of text parts");
        }
        return text.toString();
    }
}
