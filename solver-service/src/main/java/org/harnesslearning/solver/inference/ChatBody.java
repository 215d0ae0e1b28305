package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.llm.chat.ChatMessage;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Body of {@code POST /v1/chat/completions}: the OpenAI fields that this server knows, and its extensions {@code top_k},
 * {@code repetition_penalty}, {@code seeds}, {@code return_token_ids} and {@code continue_final_message}. Other fields are
 * refused by name, so that no wish is silently ignored.
 */
record ChatBody(
        @Nullable String model,
        @Nullable List<Message> messages,
        @Nullable Integer maxTokens,
        @Nullable Integer maxCompletionTokens,
        @Nullable Double temperature,
        @Nullable Double topP,
        @Nullable Integer topK,
        @Nullable Double repetitionPenalty,
        @Nullable Double presencePenalty,
        @Nullable Double frequencyPenalty,
        @Nullable Integer n,
        @Nullable Long seed,
        @Nullable List<Long> seeds,
        @Nullable JsonNode stop,
        @Nullable Boolean logprobs,
        @Nullable Integer topLogprobs,
        @Nullable Boolean stream,
        @Nullable StreamOptions streamOptions,
        @Nullable List<Map<String, Object>> tools,
        @Nullable ResponseFormat responseFormat,
        @Nullable String user,
        @Nullable Boolean returnTokenIds,
        @Nullable Boolean continueFinalMessage,
        @Nullable Map<String, String> metadata) {
    private static final int MAX_CHOICES = 128;
    private static final int MAX_STOPS = 16;
    private static final List<String> ROLES = List.of("system", "developer", "user", "assistant", "tool");

    /** Content is a string or a list of text parts. */
    record Message(
            @Nullable String role,
            @Nullable JsonNode content,
            @Nullable String name,
            @Nullable List<Map<String, Object>> toolCalls,
            @Nullable String toolCallId) {}

    record StreamOptions(
            @Nullable Boolean includeUsage, @Nullable Boolean includeObfuscation) {}

    record ResponseFormat(@Nullable String type) {}

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
        faults.within("/temperature", temperature, 0, 2);
        if (topP != null && !(topP > 0 && topP <= 1)) {
            faults.add("/top_p", "It must lie in (0, 1]");
        }
        faults.within("/top_k", topK, 0, Integer.MAX_VALUE);
        if (repetitionPenalty != null && !(repetitionPenalty > 0 && repetitionPenalty <= 100)) {
            faults.add("/repetition_penalty", "It must lie in (0, 100]");
        }
        faults.within("/presence_penalty", presencePenalty, 0, 0);
        faults.within("/frequency_penalty", frequencyPenalty, 0, 0);
        faults.within("/n", n, 1, MAX_CHOICES);
        faults.within("/max_tokens", maxTokens, 1, Integer.MAX_VALUE);
        faults.within("/max_completion_tokens", maxCompletionTokens, 1, Integer.MAX_VALUE);
        faults.within("/top_logprobs", topLogprobs, 0, 20);
        if (topLogprobs != null && topLogprobs > 0 && !Boolean.TRUE.equals(logprobs)) {
            faults.add("/top_logprobs", "It needs logprobs");
        }
        int choices = n == null ? 1 : n;
        if (seeds != null && (seeds.size() != choices || seeds.contains(null))) {
            faults.add("/seeds", "It must hold one number for each of the %d choices".formatted(choices));
        }
        if (responseFormat != null && !"text".equals(responseFormat.type())) {
            faults.add("/response_format", "Only the type text is supported");
        }
        List<String> stops = stops(faults);
        boolean continues = Boolean.TRUE.equals(continueFinalMessage);
        if (continues && (turns.isEmpty() || !turns.getLast().role().equals("assistant"))) {
            faults.add("/continue_final_message", "The last message is not an assistant's");
        }
        faults.throwIfAny();
        return new ChatCall(
                Objects.requireNonNull(model),
                turns,
                tools == null ? List.of() : tools,
                maxTokens != null ? maxTokens : maxCompletionTokens,
                temperature == null ? 1 : temperature,
                topP == null ? 1 : topP,
                topK == null ? 0 : topK,
                repetitionPenalty == null ? 1 : repetitionPenalty,
                choices,
                seed,
                seeds == null ? List.of() : seeds,
                stops,
                Boolean.TRUE.equals(logprobs),
                topLogprobs == null ? 0 : topLogprobs,
                Boolean.TRUE.equals(returnTokenIds),
                continues,
                metadata == null ? Map.of() : metadata);
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
            turns.add(new ChatMessage(role, content, calls, message.toolCallId()));
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

    private List<String> stops(Faults faults) {
        List<String> stops = new ArrayList<>();
        if (stop != null && stop.isString()) {
            stops.add(stop.asString());
        } else if (stop != null && stop.isArray()) {
            stop.forEach(entry -> stops.add(entry.isString() ? entry.asString() : ""));
        } else if (stop != null && !stop.isNull()) {
            faults.add("/stop", "It must be a text or a list of texts");
        }
        if (stops.size() > MAX_STOPS || stops.stream().anyMatch(String::isEmpty)) {
            faults.add("/stop", "At most " + MAX_STOPS + " texts that are not empty are allowed");
        }
        return stops;
    }

    /** Collects the faults of a body. */
    static final class Faults {
        private final List<FieldError> found = new ArrayList<>();

        void add(String pointer, String detail) {
            found.add(new FieldError(pointer, ErrorCode.INVALID_FIELD, detail));
        }

        void within(String pointer, @Nullable Number value, double least, double most) {
            if (value != null && !(value.doubleValue() >= least && value.doubleValue() <= most)) {
                add(pointer, "It must lie in %.0f..%.0f".formatted(least, most));
            }
        }

        void throwIfAny() {
            if (!found.isEmpty()) {
                throw PlatformException.fields(found);
            }
        }
    }
}
