package org.harnesslearning.llm;

import java.util.List;

/** Sees each token as it is made, on the engine thread: it must return quickly and must not call the engine. */
@FunctionalInterface
public interface TokenListener {

    /**
     * @param sample index of the sample, 0 … {@code samples - 1}
     * @param tokenId the new token; end and stop tokens are not shown
     * @param logprob natural logarithm of its probability under the tempered softmax
     * @param alternatives the likeliest tokens in its place, likeliest first; as many as the request asks for
     * @return false to end this sample with {@link FinishReason#STOP}, this token included
     */
    boolean onToken(int sample, int tokenId, float logprob, List<TokenLogprob> alternatives);
}
