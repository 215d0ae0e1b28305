package org.harnesslearning.trainer.decoder;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/**
 * From final hidden vectors h to log-probabilities and entropies of chosen tokens, some rows at a time: logits of all rows
 * never stand in memory together.
 *
 * <p>With z = W·h / temperature and p = softmax(z), the gradient of token t's log-probability with respect to h is
 * Wᵀ·(1ₜ − p) / temperature. It is scaled by one number a row, the objective's gradient, which is not known yet in the
 * forward pass, so the product is made there and no logits are computed twice. The gradient of the entropy H,
 * −Wᵀ·(p ⊙ (ln p + H)) / temperature, is seldom wanted: it is computed afterwards, from new logits.
 */
final class Head implements AutoCloseable {

    private static final long PIECE_BYTES_ON_PROCESSOR = 64L << 20;
    private static final long PIECE_BYTES_ON_GPU = 640L << 20;

    private final Tensor weight;
    private final Tensor transposed;
    private final ScalarType type;
    private final ScalarType wideType;
    private final Device device;
    private final @Nullable GpuKernels kernels;
    private final int rowsAtOnce;

    /**
     * Results of n rows.
     *
     * @param logprobs (n), in the wide type
     * @param entropies likewise
     * @param direction (n, hidden): each row's gradient of its log-probability; null where none was asked for
     */
    record Scores(
            Tensor logprobs, Tensor entropies, @Nullable Tensor direction) {}

    Head(Tensor weight, ScalarType type, ScalarType wideType, Device device, @Nullable GpuKernels kernels) {
        this.weight = weight;
        this.transposed = Torch.keep(weight.t());
        this.type = type;
        this.wideType = wideType;
        this.device = device;
        this.kernels = kernels;
        long piece = device.is_cuda() ? PIECE_BYTES_ON_GPU : PIECE_BYTES_ON_PROCESSOR;
        this.rowsAtOnce = Math.clamp(piece / (weight.size(0) * 4), 16, 1 << 20);
    }

    /**
     * Scores rows.
     *
     * @param hidden (n, hidden), normed
     * @param targets (n) token ids
     * @param gradient whether {@link Scores#direction()} is wanted
     */
    @SuppressWarnings("try")
    Scores scores(Tensor hidden, Tensor targets, double temperature, boolean gradient) {
        long rows = hidden.size(0);
        TensorOptions wide = Torch.options(wideType, device);
        Tensor logprobs = Torch.empty(wide, rows);
        Tensor entropies = Torch.empty(wide, rows);
        Tensor direction = gradient ? Torch.empty(Torch.options(type, device), rows, hidden.size(1)) : null;
        for (long at = 0; at < rows; at += rowsAtOnce) {
            try (PointerScope scope = new PointerScope()) {
                long count = Math.min(rowsAtOnce, rows - at);
                Tensor piece = hidden.narrow(0, at, count);
                Tensor logits = piece.mm(transposed);
                if (kernels != null
                        && kernels.scores(
                                logits,
                                targets.narrow(0, at, count),
                                temperature,
                                logprobs.narrow(0, at, count),
                                entropies.narrow(0, at, count),
                                gradient)) {
                    if (direction != null) {
                        torch.mm_out(direction.narrow(0, at, count), logits, weight);
                    }
                    continue;
                }
                Tensor chosen = targets.narrow(0, at, count).unsqueeze(1);
                Tensor all = logSoftmax(logits, temperature);
                logprobs.narrow(0, at, count).copy_(all.gather(1, chosen).squeeze(1));
                Tensor probabilities = all.exp();
                entropies
                        .narrow(0, at, count)
                        .copy_(all.mul_(probabilities).sum(1).neg_());
                if (direction != null) {
                    probabilities.neg_().scatter_add_(1, chosen, ones(wide, count));
                    torch.mm_out(direction.narrow(0, at, count), probabilities.to(type), weight);
                }
            }
        }
        if (direction != null && temperature != 1) {
            direction.mul_(new Scalar(1 / temperature));
        }
        return new Scores(logprobs, entropies, direction);
    }

    /** Adds, for each row, its gradient of the entropy times {@code factors} to the target (n, hidden). */
    @SuppressWarnings("try")
    void addEntropyGradient(Tensor target, Tensor hidden, Tensor factors, double temperature) {
        long rows = hidden.size(0);
        for (long at = 0; at < rows; at += rowsAtOnce) {
            try (PointerScope scope = new PointerScope()) {
                long count = Math.min(rowsAtOnce, rows - at);
                Tensor all = logSoftmax(hidden.narrow(0, at, count).mm(transposed), temperature);
                Tensor probabilities = all.exp();
                Tensor entropy = all.mul(probabilities).sum(1).neg_().unsqueeze(1);
                Tensor slopes = all.add_(entropy)
                        .mul_(probabilities)
                        .mul_(factors.narrow(0, at, count).unsqueeze(1))
                        .mul_(new Scalar(-1 / temperature));
                target.narrow(0, at, count).add_(slopes.to(type).mm(weight));
            }
        }
    }

    private Tensor logSoftmax(Tensor logits, double temperature) {
        Tensor scaled = temperature == 1 ? logits : logits.to(wideType).mul_(new Scalar(1 / temperature));
        return scaled.log_softmax(1, new ScalarTypeOptional(wideType));
    }

    private static Tensor ones(TensorOptions options, long rows) {
        return Torch.empty(options, rows, 1).fill_(new Scalar(1.0));
    }

    @Override
    public void close() {
        transposed.close();
    }
}
