package org.harnesslearning.llm.sampling;

import java.util.function.Supplier;

/**
 * What the model says about the next token of one sequence, after repetition penalty and temperature.
 *
 * @param topLogits the largest logits, largest first
 * @param topTokens their tokens
 * @param logSum logarithm of the sum of the exponentials of all logits
 * @param allLogits all logits (vocabulary), fetched only when the likeliest do not suffice
 */
public record Candidates(float[] topLogits, int[] topTokens, float logSum, Supplier<float[]> allLogits) {

    /** The same with all logits fetched now, for use after the next model step. */
    public Candidates detached() {
        float[] logits = allLogits.get();
        return new Candidates(topLogits, topTokens, logSum, () -> logits);
    }

    /** Natural logarithm of the probability that a logit stands for. */
    public float logprob(float logit) {
        return logit - logSum;
    }
}
