package org.harnesslearning.trainer.distributed;

import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.harnesslearning.trainer.decoder.Sequence;

/**
 * Minus the mean log-probability over all tokens of a batch, each sequence with a weight of its own: the form of both
 * SFT's and GRPO's loss. Its statistics are the tokens seen and their weights.
 */
record WeightedLoss(List<Double> weights, List<Integer> lengths, double tokens, double[] statistics)
        implements SharedObjective {
    static WeightedLoss of(List<Sequence> batch, List<Double> weights) {
        List<Integer> lengths =
                batch.stream().map(sequence -> sequence.completion().length).toList();
        double tokens = lengths.stream().mapToInt(Integer::intValue).sum();
        return new WeightedLoss(weights, lengths, tokens, new double[2]);
    }

    @Override
    public SharedObjective share(List<Integer> sequences) {
        return new WeightedLoss(
                sequences.stream().map(weights::get).toList(),
                sequences.stream().map(lengths::get).toList(),
                tokens,
                new double[2]);
    }

    @Override
    public Tensor loss(int first, int end, Tensor logprobs, Tensor entropies) {
        float[] weight = new float[Math.toIntExact(logprobs.numel())];
        int at = 0;
        for (int i = first; i < end; i++) {
            for (int token = 0; token < lengths.get(i); token++) {
                weight[at++] = weights.get(i).floatValue();
            }
            statistics[0] += lengths.get(i);
            statistics[1] += weights.get(i);
        }
        return logprobs.mul(Tensor.create(weight)).sum().mul(new Scalar(-1 / tokens));
    }
}
