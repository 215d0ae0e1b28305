package org.harnesslearning.llm;

import java.time.Duration;
import java.util.List;

/**
 * What came of a request.
 *
 * @param sequences one for each sample, in order
 * @param promptTokens tokens of the prompt
 * @param cachedPromptTokens how many of them were not computed again
 * @param queued time from submission to the start of the prefill
 * @param prefill time from there to the first token
 * @param decode time from there to the last token
 */
public record GenerationResult(
        List<Sequence> sequences,
        int promptTokens,
        int cachedPromptTokens,
        Duration queued,
        Duration prefill,
        Duration decode) {

    public GenerationResult {
        sequences = List.copyOf(sequences);
    }
}
