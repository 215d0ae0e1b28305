package org.harnesslearning.llm;

/** Sees each token as it is made, on the engine thread: it must return quickly and must not call the engine. */
@FunctionalInterface
public interface TokenListener {

    /**
     * @param sample index of the sample, 0 … {@code samples - 1}
     * @param tokenId the new token; end and stop tokens are not shown
     * @param logprob natural logarithm of its probability under the tempered softmax
     * @return false to end this sample with {@link FinishReason#STOP}, this token included
     */
    boolean onToken(int sample, int tokenId, float logprob);
}
