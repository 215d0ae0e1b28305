package org.harnesslearning.trainer.optimizer;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.trainer.decoder.AdapterParameter;
import org.harnesslearning.trainer.decoder.TensorFile;
import org.harnesslearning.trainer.decoder.TrainableDecoder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * AdamW (Loshchilov and Hutter 2019) over an adapter's weights, in fp32:
 *
 * <pre>
 *   g = gradient, scaled down so that its norm over all weights is at most the limit
 *   m = β₁·m + (1 − β₁)·g        v = β₂·v + (1 − β₂)·g²
 *   w = w·(1 − rate·decay) − rate · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
 * </pre>
 *
 * <p>Gradients stay until {@link #zeroGradients}, so that several backward passes add up to one step.
 */
public final class AdamW implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(AdamW.class);
    private static final String STEP = "step";
    private static final String LAYOUT = "layout";

    private final TrainableDecoder decoder;
    private final Settings settings;
    private final String layout;
    private final Tensor first;
    private final Tensor second;
    private long steps;

    /**
     * Constants of the method.
     *
     * @param beta1 how slowly the mean of gradients forgets
     * @param beta2 how slowly the mean of their squares forgets
     * @param epsilon added to the root of the latter
     * @param weightDecay share of the weights taken off, times the learning rate
     * @param maxGradientNorm limit of the gradient's norm; infinite: none
     */
    public record Settings(double beta1, double beta2, double epsilon, double weightDecay, double maxGradientNorm) {

        /** β 0.9 and 0.999, ε 1e-8, no decay, norm at most 1. */
        public static final Settings DEFAULTS = new Settings(0.9, 0.999, 1e-8, 0, 1);

        /** Checks. */
        public Settings {
            if (!(beta1 >= 0 && beta1 < 1) || !(beta2 >= 0 && beta2 < 1)) {
                throw new IllegalArgumentException(
                        "the betas are " + beta1 + " and " + beta2 + ", at least 0, below 1");
            }
            if (!(epsilon > 0) || !(weightDecay >= 0) || !(maxGradientNorm > 0)) {
                throw new IllegalArgumentException("epsilon " + epsilon + ", weight decay " + weightDecay
                        + " or the norm's limit " + maxGradientNorm + " is out of range");
            }
        }
    }

    /** An optimiser of the decoder's adapter that has seen nothing yet. */
    @SuppressWarnings("try") // the scope frees what is made inside
    public AdamW(TrainableDecoder decoder, Settings settings) {
        this.decoder = decoder;
        this.settings = settings;
        this.layout = layout(decoder);
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            first = torch.zeros_like(decoder.values());
            second = torch.zeros_like(decoder.values());
            first.retainReference();
            second.retainReference();
        }
    }

    /** Steps taken. */
    public long steps() {
        return steps;
    }

    /** Sets all gradients to zero. */
    public void zeroGradients() {
        decoder.zeroGradients();
    }

    /**
     * Changes the weights by one step.
     *
     * @return the norm of the gradient over all weights, before clipping
     * @throws NonFiniteGradientException if a gradient is no number; then nothing is changed
     */
    @SuppressWarnings("try")
    public double step(double learningRate) {
        if (!(learningRate >= 0) || Double.isInfinite(learningRate)) {
            throw new IllegalArgumentException("the learning rate is " + learningRate);
        }
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Tensor gradients = decoder.gradients();
            double norm = norm(gradients);
            if (!Double.isFinite(norm)) {
                NonFiniteGradientException refusal = new NonFiniteGradientException(faulty());
                LOG.warn(refusal.getMessage());
                throw refusal;
            }
            steps++;
            Tensor clipped = norm > settings.maxGradientNorm()
                    ? gradients.mul(new Scalar(settings.maxGradientNorm() / norm))
                    : gradients;
            first.lerp_(clipped, new Scalar(1 - settings.beta1()));
            second.mul_(new Scalar(settings.beta2())).addcmul_(clipped, clipped, new Scalar(1 - settings.beta2()));
            double correction1 = 1 - Math.pow(settings.beta1(), steps);
            double correction2 = 1 - Math.pow(settings.beta2(), steps);
            Tensor divisor =
                    second.sqrt().mul_(new Scalar(1 / Math.sqrt(correction2))).add_(new Scalar(settings.epsilon()));
            Tensor weights = decoder.values();
            if (settings.weightDecay() > 0) {
                weights.mul_(new Scalar(1 - learningRate * settings.weightDecay()));
            }
            weights.addcdiv_(first, divisor, new Scalar(-learningRate / correction1));
            return norm;
        }
    }

    /** In fp64, so that squares of large gradients do not overflow. */
    private static double norm(Tensor gradients) {
        return torch.linalg_vector_norm(
                        gradients, new Scalar(2.0), new long[] {0}, false, new ScalarTypeOptional(ScalarType.Double))
                .item_double();
    }

    private List<String> faulty() {
        List<String> names = new ArrayList<>();
        for (AdapterParameter parameter : decoder.parameters()) {
            if (!parameter.gradient().isfinite().all().item_bool()) {
                names.add(parameter.name());
            }
        }
        return names;
    }

    /** Writes the state: both means and the number of steps. */
    public void save(Path file) throws IOException {
        TensorFile.write(file, state(), Map.of(STEP, Long.toString(steps), LAYOUT, layout));
    }

    /**
     * Takes over a saved state.
     *
     * @throws CheckpointException if the file is damaged, or of an adapter of another form
     */
    public void load(Path file) {
        Map<String, String> texts = TensorFile.texts(file);
        if (!layout.equals(texts.get(LAYOUT))) {
            throw new CheckpointException(file, "is the optimiser state of an adapter of another form");
        }
        long saved;
        try {
            saved = Long.parseLong(texts.getOrDefault(STEP, ""));
        } catch (NumberFormatException e) {
            throw new CheckpointException(file, "does not say how many steps were taken", e);
        }
        TensorFile.read(file, state());
        steps = saved;
    }

    private Map<String, Tensor> state() {
        return Map.of("first_moment", first, "second_moment", second);
    }

    /** Names and shapes, hashed: the state fits an adapter with the same. */
    private static String layout(TrainableDecoder decoder) {
        StringBuilder text = new StringBuilder();
        for (AdapterParameter parameter : decoder.parameters()) {
            Tensor value = parameter.value();
            text.append(parameter.name())
                    .append(' ')
                    .append(value.size(0))
                    .append(' ')
                    .append(value.size(1))
                    .append('\n');
        }
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256")
                            .digest(text.toString().getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    @Override
    public void close() {
        first.close();
        second.close();
    }
}
