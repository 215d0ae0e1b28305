package org.harnesslearning.trainer.grpo;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.nio.FloatBuffer;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.harnesslearning.trainer.distributed.SharedObjective;

/**
 * The loss of one batch.
 *
 * <p>With r = exp(logprob − old) and w = min(exp(old − sampling), cap), both by token, over all N tokens of the batch:
 *
 * <pre>
 * loss = 1/N Σ ( − w · min(r · A, clip(r, 1 − low, 1 + high) · A)  +  kl · k3  −  entropy · H )
 * k3   = exp(reference − logprob) − (reference − logprob) − 1
 * </pre>
 *
 * <p>w carries no gradient: it corrects for the sampler computing with other numbers and, where the sample is stale, with
 * older weights. k3 is never negative and estimates the divergence from the reference without bias (Schulman,
 * Approximating KL divergence, 2020). Averaging over tokens and not over completions keeps long replies from counting
 * less a token.
 */
@JsonAutoDetect(
        fieldVisibility = JsonAutoDetect.Visibility.ANY,
        getterVisibility = JsonAutoDetect.Visibility.NONE,
        isGetterVisibility = JsonAutoDetect.Visibility.NONE)
final class PolicyObjective implements SharedObjective {
    private final PolicyLoss loss;
    private final List<PolicySample> samples;
    private final double normalizer;

    @JsonIgnore
    private final PolicyStatistics statistics = new PolicyStatistics();

    /**
     * A batch's objective.
     *
     * @param samples in the order of the batch
     * @param normalizer N: tokens of the whole batch, over all processes
     */
    @JsonCreator
    PolicyObjective(
            @JsonProperty("loss") PolicyLoss loss,
            @JsonProperty("samples") List<PolicySample> samples,
            @JsonProperty("normalizer") double normalizer) {
        if (!(normalizer > 0)) {
            throw new IllegalArgumentException("a batch has tokens");
        }
        this.loss = loss;
        this.samples = List.copyOf(samples);
        this.normalizer = normalizer;
    }

    /** The objective of a batch in one process. */
    static PolicyObjective of(PolicyLoss loss, List<PolicySample> samples) {
        return new PolicyObjective(
                loss, samples, samples.stream().mapToInt(PolicySample::count).sum());
    }

    @Override
    public SharedObjective share(List<Integer> sequences) {
        return new PolicyObjective(loss, sequences.stream().map(samples::get).toList(), normalizer);
    }

    @Override
    public double[] statistics() {
        return statistics.values();
    }

    @Override
    public double[] merge(double[] a, double[] b) {
        return PolicyStatistics.of(a).merge(PolicyStatistics.of(b)).values();
    }

    @Override
    public Tensor loss(int firstSequence, int endSequence, Tensor logprobs, Tensor entropies) {
        List<PolicySample> part = samples.subList(firstSequence, endSequence);
        int n = part.stream().mapToInt(PolicySample::count).sum();
        if (n != logprobs.numel()) {
            throw new IllegalArgumentException(
                    "the samples have " + n + " tokens, the forward pass " + logprobs.numel());
        }
        float[] advantage = new float[n];
        float[] weight = new float[n];
        float[] old = new float[n];
        float[] reference = new float[n];
        int at = 0;
        for (PolicySample sample : part) {
            for (int i = 0; i < sample.count(); i++, at++) {
                advantage[at] = (float) sample.advantage();
                old[at] = sample.old()[i];
                weight[at] = (float) weight(sample, i);
                if (sample.reference() != null) {
                    reference[at] = sample.reference()[i];
                }
            }
        }
        observe(part, logprobs, entropies);

        Tensor a = like(logprobs, advantage); // [n]
        Tensor ratio = logprobs.sub(like(logprobs, old)).exp();
        Tensor clipped = ratio.clamp(
                new ScalarOptional(new Scalar(1 - loss.clipLow())),
                new ScalarOptional(new Scalar(1 + loss.clipHigh())));
        Tensor total = torch.minimum(ratio.mul(a), clipped.mul(a))
                .mul(like(logprobs, weight))
                .sum()
                .neg();
        if (loss.klCoefficient() > 0) {
            if (part.stream().anyMatch(sample -> sample.reference() == null)) {
                throw new IllegalArgumentException("the KL term needs the reference's log-probabilities");
            }
            Tensor above = like(logprobs, reference).sub(logprobs);
            Tensor kl = above.exp().sub(above).sub(new Scalar(1.0)).sum();
            total = total.add(kl.mul(new Scalar(loss.klCoefficient())));
        }
        if (loss.entropyCoefficient() > 0) {
            total = total.sub(entropies.sum().mul(new Scalar(loss.entropyCoefficient())));
        }
        return total.mul(new Scalar(1 / normalizer));
    }

    private double weight(PolicySample sample, int token) {
        return token < sample.sampling().length
                ? Math.min(Math.exp(sample.old()[token] - sample.sampling()[token]), loss.importanceCap())
                : 1;
    }

    private void observe(List<PolicySample> part, Tensor logprobs, Tensor entropies) {
        float[] now = values(logprobs);
        float[] entropy = values(entropies);
        int at = 0;
        for (PolicySample sample : part) {
            for (int i = 0; i < sample.count(); i++, at++) {
                double ratio = Math.exp(now[at] - sample.old()[i]);
                boolean clip = sample.advantage() > 0 ? ratio > 1 + loss.clipHigh() : ratio < 1 - loss.clipLow();
                statistics.token(ratio, clip && sample.advantage() != 0, entropy[at]);
                if (sample.reference() != null) {
                    double above = sample.reference()[i] - now[at];
                    statistics.reference(Math.exp(above) - above - 1);
                }
                if (i < sample.sampling().length) {
                    double difference = sample.old()[i] - sample.sampling()[i];
                    statistics.sampler(difference, Math.exp(difference) > loss.importanceCap());
                }
            }
        }
    }

    private static Tensor like(Tensor tensor, float[] values) {
        return Tensor.create(values).to(tensor.device(), torch.ScalarType.Float);
    }

    private static float[] values(Tensor tensor) {
        Tensor host = tensor.detach().cpu().to(torch.ScalarType.Float).contiguous();
        float[] values = new float[Math.toIntExact(host.numel())];
        FloatBuffer buffer = host.createBuffer();
        buffer.get(values);
        return values;
    }
}
