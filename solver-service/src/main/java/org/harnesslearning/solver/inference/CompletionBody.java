package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Body of {@code POST /v1/completions}: the OpenAI fields that this server knows, and the extensions of {@link ChatBody}
 * with {@code add_special_tokens}. Other fields are refused by name.
 */
record CompletionBody(
        @Nullable String model,
        @Nullable JsonNode prompt,
        @Nullable Boolean addSpecialTokens,
        @Nullable Integer maxTokens,
        @Nullable Double temperature,
        @Nullable Double topP,
        @Nullable Integer topK,
        @Nullable Double minP,
        @Nullable Double repetitionPenalty,
        @Nullable Double presencePenalty,
        @Nullable Double frequencyPenalty,
        @Nullable Integer n,
        @Nullable Integer bestOf,
        @Nullable Long seed,
        @Nullable List<Long> seeds,
        @Nullable JsonNode stop,
        @Nullable List<Integer> stopTokenIds,
        @Nullable Boolean ignoreEos,
        @Nullable Integer logprobs,
        @Nullable Boolean echo,
        @Nullable String suffix,
        @Nullable Boolean stream,
        @Nullable StreamOptions streamOptions,
        @Nullable String user,
        @Nullable Boolean returnTokenIds) {
    /** As in the OpenAI API. */
    private static final int DEFAULT_MAX_TOKENS = 16;

    boolean streams() {
        return Boolean.TRUE.equals(stream);
    }

    boolean streamsUsage() {
        return streamOptions != null && Boolean.TRUE.equals(streamOptions.includeUsage());
    }

    /** All faults at once, or the call. */
    CompletionCall validated() {
        Faults faults = new Faults();
        if (model == null || model.isBlank()) {
            faults.add("/model", "A model's name is needed");
        }
        Prompt wanted = prompt(faults);
        if (Boolean.TRUE.equals(echo)) {
            faults.add("/echo", "The prompt is not repeated in the answer");
        }
        if (suffix != null && !suffix.isEmpty()) {
            faults.add("/suffix", "Text cannot be inserted, only continued");
        }
        if (bestOf != null && bestOf != (n == null ? 1 : n)) {
            faults.add("/best_of", "It can only equal n");
        }
        faults.within("/logprobs", logprobs, 0, DecodingFields.MAX_TOP_LOGPROBS);
        StreamOptions.usage(streamOptions, stream, faults);
        Decoding decoding = new DecodingFields(
                        maxTokens == null ? DEFAULT_MAX_TOKENS : maxTokens,
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
                .checked(faults, logprobs != null, logprobs == null ? 0 : logprobs);
        faults.throwIfAny();
        return new CompletionCall(Objects.requireNonNull(model), wanted, decoding);
    }

    private Prompt prompt(Faults faults) {
        JsonNode given = prompt;
        if (given != null
                && given.isArray()
                && given.size() == 1
                && !given.get(0).isNumber()) {
            given = given.get(0); // a list of one prompt
        }
        if (given != null && given.isString()) {
            return new Prompt.Text(given.asString(), !Boolean.FALSE.equals(addSpecialTokens));
        }
        List<Integer> ids = new ArrayList<>();
        if (given != null && given.isArray() && !given.isEmpty()) {
            for (JsonNode id : given) {
                if (!id.isInt()) {
                    faults.add("/prompt", "One prompt a call is supported: a text or a list of token ids");
                    return new Prompt.Tokens(List.of());
                }
                ids.add(id.asInt());
            }
        } else {
            faults.add("/prompt", "It must be a text or a list of token ids that is not empty");
        }
        return new Prompt.Tokens(ids);
    }
}
