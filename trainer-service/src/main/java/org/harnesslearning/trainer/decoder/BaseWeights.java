package org.harnesslearning.trainer.decoder;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.checkpoint.Dequantiser;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.jspecify.annotations.Nullable;

/** The frozen weights of a checkpoint on a device, in one number type; matrices are (outputs, inputs). */
final class BaseWeights implements AutoCloseable {

    /** Weights that are read from the file at once. */
    private static final int PIECE = 1 << 22;

    private final Keeper keeper = new Keeper();
    private final Checkpoint checkpoint;
    private final DecoderConfig config;
    private final ScalarType type;
    private final Device device;
    private final Tensor embedding;
    private final Tensor head;
    private final TensorOptional finalNorm;
    private final List<Block> blocks = new ArrayList<>();

    /**
     * Several projections with the same input.
     *
     * @param weight (outputs, inputs)
     * @param transposed a view of it
     * @param bias (outputs), if any of them has one
     */
    record Matrix(
            Tensor weight, Tensor transposed, @Nullable Tensor bias) {}

    /** One block; the norms of query and key heads are Qwen3's. */
    record Block(
            TensorOptional attentionNorm,
            @Nullable TensorOptional queryNorm,
            @Nullable TensorOptional keyNorm,
            TensorOptional feedForwardNorm,
            Map<Projection, Matrix> matrices) {

        Matrix matrix(Projection projection) {
            Matrix matrix = matrices.get(projection);
            if (matrix == null) {
                throw new IllegalStateException("no " + projection);
            }
            return matrix;
        }
    }

    /** Copies all weights; the checkpoint can be closed afterwards. */
    @SuppressWarnings("try") // the scope frees what is made inside
    BaseWeights(Checkpoint checkpoint, ScalarType type, Device device) {
        this.checkpoint = checkpoint;
        this.config = checkpoint.config();
        this.type = type;
        this.device = device;
        try (PointerScope scope = new PointerScope()) {
            embedding = keeper.keep(matrix(checkpoint.embedding()));
            head = checkpoint.untied() ? keeper.keep(matrix(checkpoint.head())) : embedding;
            finalNorm = norm(checkpoint.tensor("output_norm.weight"));
            for (int layer = 0; layer < config.layers(); layer++) {
                blocks.add(block(layer));
            }
        } catch (RuntimeException | Error e) {
            keeper.close();
            throw e;
        }
    }

    DecoderConfig config() {
        return config;
    }

    /** (vocabulary, hidden). */
    Tensor embedding() {
        return embedding;
    }

    /** (vocabulary, hidden). */
    Tensor head() {
        return head;
    }

    TensorOptional finalNorm() {
        return finalNorm;
    }

    Block block(Integer layer) {
        return blocks.get(layer);
    }

    @Override
    public void close() {
        keeper.close();
    }

    @SuppressWarnings("try")
    private Block block(int layer) {
        try (PointerScope scope = new PointerScope()) {
            Map<Projection, Matrix> matrices = new EnumMap<>(Projection.class);
            for (Projection projection : Projection.all()) {
                matrices.put(projection, matrix(layer, projection));
            }
            return new Block(
                    norm(checkpoint.tensor(layer, "attn_norm.weight")),
                    headNorm(layer, "attn_q_norm.weight"),
                    headNorm(layer, "attn_k_norm.weight"),
                    norm(checkpoint.tensor(layer, "ffn_norm.weight")),
                    matrices);
        }
    }

    private TensorOptional norm(org.harnesslearning.llm.checkpoint.Tensor source) {
        Tensor target = Torch.empty(options(), source.elements());
        fill(target.view(1, source.elements()), source);
        return keeper.keep(new TensorOptional(target));
    }

    private @Nullable TensorOptional headNorm(int layer, String part) {
        org.harnesslearning.llm.checkpoint.Tensor source = checkpoint.find(layer, part);
        return source == null ? null : norm(source);
    }

    private Tensor matrix(org.harnesslearning.llm.checkpoint.Tensor source) {
        Tensor target =
                Torch.empty(options(), source.shape().getFirst(), source.shape().getLast());
        fill(target, source);
        return target;
    }

    private Matrix matrix(int layer, Projection projection) {
        Tensor weight = keeper.keep(Torch.empty(options(), projection.outputs(config), projection.inputs(config)));
        Tensor bias = null;
        for (Projection.Module module : projection.modules()) {
            int first = projection.firstRow(module, config);
            int rows = module.outputs(config);
            Tensor part = weight.narrow(0, first, rows);
            fill(part, checkpoint.tensor(layer, module.part() + ".weight"));
            naturalOrder(part, module);
            org.harnesslearning.llm.checkpoint.Tensor source = checkpoint.find(layer, module.part() + ".bias");
            if (source != null) {
                if (bias == null) {
                    bias = keeper.keep(Torch.zeros(options(), projection.outputs(config)));
                }
                Tensor values = bias.narrow(0, first, rows);
                fill(values.view(1, rows), source);
                naturalOrder(values, module);
            }
        }
        return new Matrix(weight, keeper.keep(weight.t()), bias);
    }

    /** Puts the rows of query and key heads that are stored for interleaved rotary embedding into their own order. */
    private void naturalOrder(Tensor rows, Projection.Module module) {
        if (!checkpoint.interleavedHeads() || module != Projection.Module.QUERY && module != Projection.Module.KEY) {
            return;
        }
        int size = config.headSize();
        long[] stored = new long[module.outputs(config)];
        for (int row = 0; row < stored.length; row++) {
            int within = row % size;
            stored[row] = row - within + (within < size / 2 ? 2 * within : 2 * (within - size / 2) + 1);
        }
        rows.copy_(rows.index_select(0, Torch.upload(stored, device)));
    }

    private TensorOptions options() {
        return Torch.options(type, device);
    }

    /** Copies a stored matrix, or a vector as its only row. */
    @SuppressWarnings("try")
    private void fill(Tensor target, org.harnesslearning.llm.checkpoint.Tensor source) {
        int columns = Math.toIntExact(source.shape().getLast());
        long rows = source.elements() / columns;
        int step = (int) Math.min(rows, Math.max(1, PIECE / columns));
        for (long row = 0; row < rows; row += step) {
            try (PointerScope scope = new PointerScope()) {
                int count = (int) Math.min(step, rows - row);
                Tensor part = target.narrow(0, row, count);
                part.copy_(piece(source, row, count, columns));
                if (!part.isfinite().all().item_bool()) {
                    throw new NonFiniteException(
                            checkpoint.path() + ": tensor " + source.name() + " has weights that are no numbers");
                }
            }
        }
    }

    /** Rows of a stored matrix on the host, quantised ones in fp32. */
    private static Tensor piece(org.harnesslearning.llm.checkpoint.Tensor source, long row, int count, int columns) {
        TensorType stored = source.type();
        ScalarType as = switch (stored) {
            case F16 -> ScalarType.Half;
            case BF16 -> ScalarType.BFloat16;
            case F32, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K -> ScalarType.Float;
        };
        Tensor piece = Torch.empty(new TensorOptions(as), count, columns);
        MemorySegment memory = Torch.memory(piece);
        if (stored.quantised()) {
            float[] values = new float[count * columns];
            for (int i = 0; i < count; i++) {
                Dequantiser.row(source, row + i, values, i * columns);
            }
            MemorySegment.copy(values, 0, memory, ValueLayout.JAVA_FLOAT, 0, values.length);
        } else {
            long bytes = memory.byteSize();
            memory.copyFrom(source.data().asSlice(row * columns * stored.blockBytes(), bytes));
        }
        return piece;
    }
}
