package org.harnesslearning.trainer.sft;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.harnesslearning.trainer.distributed.SharedObjective;

/**
 * Mean negative log-likelihood of completion tokens, in nats; prompts carry no loss.
 *
 * @param normalizer completion tokens of the whole batch, over all processes
 */
public record LikelihoodObjective(double normalizer) implements SharedObjective {
    /** Checks. */
    @JsonCreator
    public LikelihoodObjective(@JsonProperty("normalizer") double normalizer) {
        if (!(normalizer > 0)) {
            throw new IllegalArgumentException("a batch has tokens");
        }
        this.normalizer = normalizer;
    }

    @Override
    public Tensor loss(int first, int end, Tensor logprobs, Tensor entropies) {
        return logprobs.sum().mul(new Scalar(-1 / normalizer));
    }

    @Override
    public SharedObjective share(List<Integer> sequences) {
        return this;
    }

    @Override
    public double[] statistics() {
        return new double[0];
    }
}
