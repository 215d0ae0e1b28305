package org.harnesslearning.contracts.model;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Answer of {@code POST /v1/chat/completions}; names as in the OpenAI API, with the platform's extensions. */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonIgnoreProperties(ignoreUnknown = true)
public record ChatResponse(
        String id,
        String object,
        long created,
        String model,
        List<Choice> choices,
        Usage usage,
        @Nullable List<Integer> promptTokenIds,
        @Nullable String weightsVersion,
        @Nullable Boolean recorded,
        @Nullable Timings timings) {

    /**
     * One sampled reply.
     *
     * @param finishReason {@code stop}, {@code length}, {@code tool_calls}, {@code cancelled} or {@code error}
     * @param tokenIds sampled token ids, on request
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    @JsonIgnoreProperties(ignoreUnknown = true)
    public record Choice(
            int index,
            ChatRequest.Message message,
            String finishReason,
            @Nullable Logprobs logprobs,
            @Nullable List<Integer> tokenIds) {}

    /** Log-probabilities by sampled token. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    public record Logprobs(List<TokenLogprob> content) {}

    /** Natural-log probability of one token under the tempered full softmax. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    @JsonIgnoreProperties(ignoreUnknown = true)
    public record TokenLogprob(
            String token,
            double logprob,
            @Nullable List<Integer> bytes,
            @Nullable List<TokenLogprob> topLogprobs) {}

    /** Tokens counted by the model's own tokenizer. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    public record Usage(int promptTokens, int completionTokens, int totalTokens) {}

    /** Where the time went, in milliseconds. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    @JsonIgnoreProperties(ignoreUnknown = true)
    public record Timings(
            double queueTimeMs,
            double timeToFirstTokenMs,
            double generationTimeMs,
            double meanItlMs,
            double tokensPerSecond,
            @Nullable Integer cachedPromptTokens) {}
}
