package org.harnesslearning.contracts.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Body of {@code POST /v1/chat/completions} as the platform's own services send it; names as in the OpenAI API, with
 * the extensions {@code top_k}, {@code return_token_ids} and {@code continue_final_message}.
 *
 * @param maxTokens most new tokens a choice
 * @param n number of choices, sampled from one prefill
 * @param seed sampling seed; choice i uses (seed, i)
 * @param seeds one seed a choice, in place of {@code seed}; extension
 * @param returnTokenIds asks for {@code prompt_token_ids}, {@code token_ids} and {@code weights_version}
 * @param continueFinalMessage leaves the last assistant message open, so that the reply continues it
 * @param metadata free strings; recorded models read {@code positions}, such as {@code "1/0,1/2"} (round/candidate)
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record ChatRequest(
        String model,
        List<Message> messages,
        @Nullable Integer maxTokens,
        @Nullable Double temperature,
        @Nullable Double topP,
        @Nullable Integer topK,
        @Nullable Integer n,
        @Nullable Long seed,
        @Nullable List<Long> seeds,
        @Nullable List<String> stop,
        @Nullable Boolean logprobs,
        @Nullable Integer topLogprobs,
        @Nullable Boolean returnTokenIds,
        @Nullable Boolean continueFinalMessage,
        @Nullable Map<String, String> metadata) {
    /**
     * One message; role is {@code system}, {@code user} or {@code assistant}.
     *
     * @param toolCalls calls that a reply makes, where it was offered tools
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Message(
            String role, String content, @Nullable List<ToolCall> toolCalls) {
        /** Plain text. */
        public Message(String role, String content) {
            this(role, content, null);
        }
    }

    /**
     * A call of a tool.
     *
     * @param type always {@code function}
     */
    public record ToolCall(String id, String type, Function function) {}

    /**
     * What is called.
     *
     * @param arguments a JSON object as text
     */
    public record Function(String name, String arguments) {}

    public ChatRequest {
        messages = List.copyOf(messages);
    }
}
