package org.harnesslearning.trainer.grpo;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * One completion with all that its loss needs; the arrays have one entry a token and are not copied.
 *
 * @param advantage the same for all tokens
 * @param old the policy's log-probabilities before the first step on this batch
 * @param sampling the sampler's, from the first token on; it gives none for the token that ended the reply, so this may
 *     be shorter than {@code old}
 * @param reference those of the base without adapter; null where nothing asks for them
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record PolicySample(double advantage, float[] old, float[] sampling, float @Nullable [] reference) {
    public PolicySample {
        if (!Double.isFinite(advantage)) {
            throw new IllegalArgumentException("a sample without an advantage can't be trained on");
        }
        if (old.length == 0 || sampling.length > old.length || (reference != null && reference.length != old.length)) {
            throw new IllegalArgumentException("log-probabilities of different lengths: " + old.length + ", "
                    + sampling.length + (reference == null ? "" : ", " + reference.length));
        }
    }

    /** Number of tokens. */
    int count() {
        return old.length;
    }
}
