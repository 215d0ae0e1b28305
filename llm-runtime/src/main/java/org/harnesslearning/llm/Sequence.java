package org.harnesslearning.llm;

import java.util.List;

/**
 * One completion.
 *
 * @param tokenIds the tokens, without the end or stop token
 * @param logprobs natural logarithm of each token's probability under the full softmax at the request's temperature,
 *     before top-k and top-p (at temperature 0: under the plain softmax)
 * @param topLogprobs for each token the likeliest alternatives, likeliest first; empty unless asked for
 * @param reason why it ended
 * @param endToken the end or stop token that ended it, or -1
 */
public record Sequence(
        int[] tokenIds, float[] logprobs, List<List<TokenLogprob>> topLogprobs, FinishReason reason, int endToken) {

    public Sequence {
        topLogprobs = List.copyOf(topLogprobs);
    }
}
