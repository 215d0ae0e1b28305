package org.harnesslearning.solver.inference;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How replies are sampled, as validated.
 *
 * @param maxTokens most new tokens a reply; null: what the context leaves
 * @param topK 0 for all tokens
 * @param minP tokens less likely than this share of the likeliest are dropped; 0 for none
 * @param seed null: chosen by the back-end
 * @param seeds one a reply, or empty
 * @param stop texts that end a reply and are not part of it
 * @param stopTokens token ids that do the same
 * @param ignoreEos whether the model's end tokens are ordinary tokens
 * @param logprobs whether each token's log-probability is wanted
 * @param topLogprobs alternatives a token; 0 for none
 * @param returnTokenIds whether token ids and the weights' version are wanted
 */
public record Decoding(
        @Nullable Integer maxTokens,
        double temperature,
        double topP,
        int topK,
        double minP,
        double repetitionPenalty,
        double presencePenalty,
        double frequencyPenalty,
        int n,
        @Nullable Long seed,
        List<Long> seeds,
        List<String> stop,
        Set<Integer> stopTokens,
        boolean ignoreEos,
        boolean logprobs,
        int topLogprobs,
        boolean returnTokenIds) {
    public Decoding {
        seeds = List.copyOf(seeds);
        stop = List.copyOf(stop);
        stopTokens = Set.copyOf(stopTokens);
    }
}
