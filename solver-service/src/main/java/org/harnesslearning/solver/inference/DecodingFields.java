package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** The fields that chat and text completions have in common, as they came. */
record DecodingFields(
        @Nullable Integer maxTokens,
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
        @Nullable Boolean returnTokenIds) {
    static final int MAX_TOP_LOGPROBS = 20;

    private static final int MAX_CHOICES = 128;
    private static final int MAX_STOPS = 16;

    /** The settings, with what is wrong with them added to {@code faults}. */
    Decoding checked(Faults faults, boolean logprobs, int topLogprobs) {
        faults.within("/temperature", temperature, 0, 2);
        faults.positive("/top_p", topP, 1);
        faults.within("/top_k", topK, 0, Integer.MAX_VALUE);
        faults.within("/min_p", minP, 0, 1);
        faults.positive("/repetition_penalty", repetitionPenalty, 100);
        faults.within("/presence_penalty", presencePenalty, -2, 2);
        faults.within("/frequency_penalty", frequencyPenalty, -2, 2);
        faults.within("/n", n, 1, MAX_CHOICES);
        faults.within("/max_tokens", maxTokens, 1, Integer.MAX_VALUE);
        int choices = n == null ? 1 : n;
        if (seeds != null && (seeds.size() != choices || seeds.contains(null))) {
            faults.add("/seeds", "It must hold one number for each of the %d choices".formatted(choices));
        }
        if (stopTokenIds != null && (stopTokenIds.size() > MAX_STOPS || stopTokenIds.contains(null))) {
            faults.add("/stop_token_ids", "At most " + MAX_STOPS + " token ids are allowed");
        }
        return new Decoding(
                maxTokens,
                temperature == null ? 1 : temperature,
                topP == null ? 1 : topP,
                topK == null ? 0 : topK,
                minP == null ? 0 : minP,
                repetitionPenalty == null ? 1 : repetitionPenalty,
                presencePenalty == null ? 0 : presencePenalty,
                frequencyPenalty == null ? 0 : frequencyPenalty,
                choices,
                seed,
                seeds == null || seeds.contains(null) ? List.of() : seeds,
                stops(faults),
                stopTokenIds == null || stopTokenIds.contains(null) ? Set.of() : Set.copyOf(stopTokenIds),
                Boolean.TRUE.equals(ignoreEos),
                logprobs,
                topLogprobs,
                Boolean.TRUE.equals(returnTokenIds));
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
}
