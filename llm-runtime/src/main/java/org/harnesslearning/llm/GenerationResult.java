package org.harnesslearning.llm;

import java.time.Duration;
import java.util.List;

/**
 * What came of a request.
 *
 * @param sequences one for each sample, in order
 * @param weightsVersion hash of the base's weights; with an adapter {@code <hash of the base>+<hash of the adapter>}
 * @param promptTokens tokens of the prompt
 * @param cachedPromptTokens how many of them were not computed again
 * @param queued time from submission to the start of the prefill
 * @param prefill time from there to the first token
 * @param decode time from there to the last token
 */
public record GenerationResult(
        List<Sequence> sequences,
        String weightsVersion,
        int promptTokens,
        int cachedPromptTokens,
        Duration queued,
        Duration prefill,
        Duration decode) {

    public GenerationResult {
        sequences = List.copyOf(sequences);
    }
}
