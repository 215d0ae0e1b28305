package org.harnesslearning.trainer.decoder;

import org.bytedeco.pytorch.Tensor;

/** What training minimises, given the log-probabilities of completion tokens. */
@FunctionalInterface
public interface Objective {

    /**
     * The loss of some sequences of a batch. It is called once for each micro-batch, in the order of the batch.
     *
     * <p>What it computes with the two tensors is recorded for the backward pass. Tensors that it makes itself must lie
     * on their device; all native objects made inside are freed after the call.
     *
     * @param first index in the batch of the first sequence seen
     * @param end index after the last
     * @param logprobs log-probabilities at the given temperature, fp32 {@code [n]}: the completion tokens of the
     *     sequences one after the other
     * @param entropies entropies of the distributions that the same tokens were taken from, nats, fp32 {@code [n]}
     * @return a scalar to minimise, already divided by the normaliser of the <em>whole</em> batch, so that the losses of
     *     all micro-batches add up
     */
    Tensor loss(int first, int end, Tensor logprobs, Tensor entropies);
}
