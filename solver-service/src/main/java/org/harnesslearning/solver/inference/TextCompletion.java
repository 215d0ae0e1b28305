package org.harnesslearning.solver.inference;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.model.ChatResponse;
import org.jspecify.annotations.Nullable;

/** Answer of {@code POST /v1/completions}; names as in the OpenAI API, with the platform's extensions. */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record TextCompletion(
        String id,
        String object,
        long created,
        String model,
        List<Choice> choices,
        ChatResponse.Usage usage,
        @Nullable List<Integer> promptTokenIds,
        @Nullable String weightsVersion,
        ChatResponse.Timings timings) {
    public TextCompletion {
        choices = List.copyOf(choices);
    }

    /** One sampled text; {@code finishReason} as in {@link ChatResponse.Choice}. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Choice(
            int index,
            String text,
            String finishReason,
            @Nullable Logprobs logprobs,
            @Nullable List<Integer> tokenIds) {}

    /**
     * Log-probabilities by sampled token, in four parallel lists.
     *
     * @param topLogprobs the likeliest tokens by text, likeliest first
     * @param textOffset characters of the text before each token
     */
    public record Logprobs(
            List<String> tokens,
            List<Double> tokenLogprobs,
            List<Map<String, Double>> topLogprobs,
            List<Integer> textOffset) {
        /** The lists of some tokens. */
        public static Logprobs of(List<Delta.Token> sampled) {
            List<String> tokens = new ArrayList<>();
            List<Double> logprobs = new ArrayList<>();
            List<Map<String, Double>> alternatives = new ArrayList<>();
            List<Integer> offsets = new ArrayList<>();
            for (Delta.Token token : sampled) {
                tokens.add(token.logprob().token());
                logprobs.add(token.logprob().logprob());
                offsets.add(token.offset());
                Map<String, Double> likeliest = new LinkedHashMap<>();
                List<ChatResponse.TokenLogprob> top = token.logprob().topLogprobs();
                if (top != null) {
                    top.forEach(other -> likeliest.putIfAbsent(other.token(), other.logprob()));
                }
                alternatives.add(likeliest);
            }
            return new Logprobs(tokens, logprobs, alternatives, offsets);
        }
    }
}
