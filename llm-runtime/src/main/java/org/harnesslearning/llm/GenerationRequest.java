package org.harnesslearning.llm;

import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One prompt and what to make of it.
 *
 * @param promptTokens token ids, at least one
 * @param samples completions of this prompt, all from one prefill
 * @param maxTokens most tokens a completion may have
 * @param seed together with the sample's index it determines the draws, whatever else is in the batch
 * @param sampleSeeds one seed a sample in place of {@code seed}, as of as many requests of one sample each; or empty
 * @param stopTokens ids that end a sample besides the model's own end tokens; not part of its tokens
 * @param ignoreEndTokens whether the model's own end tokens are ordinary tokens
 * @param topLogprobs likeliest alternatives to report for each token, 0 … 20
 * @param adapter name of a resident adapter, or null for the base alone
 * @param listener called for each token, or null
 */
public record GenerationRequest(
        int[] promptTokens,
        int samples,
        int maxTokens,
        Sampling sampling,
        long seed,
        List<Long> sampleSeeds,
        Set<Integer> stopTokens,
        boolean ignoreEndTokens,
        int topLogprobs,
        @Nullable String adapter,
        @Nullable TokenListener listener) {

    public static final int MAX_TOP_LOGPROBS = 20;

    public GenerationRequest {
        if (promptTokens.length == 0) {
            throw new IllegalArgumentException("the prompt has no tokens");
        }
        if (samples < 1) {
            throw new IllegalArgumentException("samples must be at least 1");
        }
        if (maxTokens < 1) {
            throw new IllegalArgumentException("maxTokens must be at least 1");
        }
        if (topLogprobs < 0 || topLogprobs > MAX_TOP_LOGPROBS) {
            throw new IllegalArgumentException("topLogprobs must lie in 0.." + MAX_TOP_LOGPROBS);
        }
        sampleSeeds = List.copyOf(sampleSeeds);
        if (!sampleSeeds.isEmpty() && sampleSeeds.size() != samples) {
            throw new IllegalArgumentException("sampleSeeds must be empty or one for each sample");
        }
        promptTokens = promptTokens.clone();
        stopTokens = Set.copyOf(stopTokens);
    }

    /** One greedy completion. */
    public static GenerationRequest greedy(int[] promptTokens, int maxTokens) {
        return of(promptTokens, maxTokens, Sampling.greedy(), 0);
    }

    /** One completion. */
    public static GenerationRequest of(int[] promptTokens, int maxTokens, Sampling sampling, long seed) {
        return new GenerationRequest(
                promptTokens, 1, maxTokens, sampling, seed, List.of(), Set.of(), false, 0, null, null);
    }

    public GenerationRequest withSamples(int value) {
        return with(draft -> draft.samples = value);
    }

    /** One sample for each seed. */
    public GenerationRequest withSampleSeeds(List<Long> value) {
        return with(draft -> {
            draft.samples = value.size();
            draft.sampleSeeds = value;
        });
    }

    public GenerationRequest withStopTokens(Set<Integer> value) {
        return with(draft -> draft.stopTokens = value);
    }

    public GenerationRequest withIgnoreEndTokens(boolean value) {
        return with(draft -> draft.ignoreEndTokens = value);
    }

    public GenerationRequest withTopLogprobs(int value) {
        return with(draft -> draft.topLogprobs = value);
    }

    /** With the weights of a resident adapter; see {@link LanguageModel#loadAdapter}. */
    public GenerationRequest withAdapter(@Nullable String value) {
        return with(draft -> draft.adapter = value);
    }

    public GenerationRequest withListener(@Nullable TokenListener value) {
        return with(draft -> draft.listener = value);
    }

    private GenerationRequest with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return draft.request();
    }

    /** The fields that have with-methods, open to change. */
    private static final class Draft {
        private final GenerationRequest origin;
        private int samples;
        private List<Long> sampleSeeds;
        private Set<Integer> stopTokens;
        private boolean ignoreEndTokens;
        private int topLogprobs;
        private @Nullable String adapter;
        private @Nullable TokenListener listener;

        Draft(GenerationRequest origin) {
            this.origin = origin;
            this.samples = origin.samples;
            this.sampleSeeds = origin.sampleSeeds;
            this.stopTokens = origin.stopTokens;
            this.ignoreEndTokens = origin.ignoreEndTokens;
            this.topLogprobs = origin.topLogprobs;
            this.adapter = origin.adapter;
            this.listener = origin.listener;
        }

        GenerationRequest request() {
            return new GenerationRequest(
                    origin.promptTokens,
                    samples,
                    origin.maxTokens,
                    origin.sampling,
                    origin.seed,
                    sampleSeeds,
                    stopTokens,
                    ignoreEndTokens,
                    topLogprobs,
                    adapter,
                    listener);
        }
    }
}
