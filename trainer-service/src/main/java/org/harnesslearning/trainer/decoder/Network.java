package org.harnesslearning.trainer.decoder;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of the decoder, forward and backward, over the packed tokens of one micro-batch (T of them):
 *
 * <pre>
 *   y = x + O · attention(rotate(Q·n(x)), rotate(K·n(x)), V·n(x))        n: RMS norm
 *   x' = y + D · (silu(G·n(y)) ⊙ U·n(y))
 *   each matrix M with an adapter: M·x + scale · B · A · dropout(x)
 * </pre>
 *
 * <p>All calls are made without recording for automatic differentiation, except for norms and attention ({@link Segment}).
 * The products' gradients are written out: of a frozen matrix only the gradient of its input is needed.
 */
final class Network implements AutoCloseable {

    private static final Object GENERATOR = new Object();
    private static final int PLANNED_AFTER = 16;
    private static final int MOST_SHAPES = 10_000;

    private final Keeper keeper = new Keeper();
    private final Map<List<Long>, Integer> shapes = new HashMap<>();
    private final BaseWeights base;
    private final Adapter adapter;
    private final DecoderConfig config;
    private final Device device;
    private final ScalarType type;
    private final boolean checkpointing;
    private final @Nullable GpuKernels kernels;
    private final DoubleOptional epsilon;
    private final Scalar one;
    private final Scalar minusOne;
    private final Scalar scale;
    private final Tensor cosines;
    private final Tensor sines;

    /**
     * What all blocks need to know of a micro-batch.
     *
     * @param planned for each of the packing's runs, whether its attention may be cuDNN's
     * @param cos (T, 1, head / 2)
     * @param sin likewise
     * @param adapted whether the adapter takes part
     * @param dropoutSeed decides which inputs are dropped; null: none
     */
    private record Inputs(
            Packing packing,
            List<Boolean> planned,
            Tensor cos,
            Tensor sin,
            boolean adapted,
            @Nullable Long dropoutSeed) {

        long tokens() {
            return packing.ids().length;
        }
    }

    /** A product as the backward pass needs it: its input and, with an adapter, A · dropout(input). */
    private record Product(Tensor input, @Nullable Tensor hidden) {}

    /** What a block's backward pass needs from its forward pass. */
    private record Saved(
            Keeper keeper,
            Segment attentionNorm,
            Product attentionIn,
            @Nullable Segment headNorms,
            Segment attention,
            Product attentionOut,
            Segment feedForwardNorm,
            Product feedForwardIn,
            Tensor gateUp,
            Product feedForwardOut) {}

    /** A micro-batch on its way through the blocks: forward, then backward once if it was recorded. */
    final class Pass implements AutoCloseable {

        private final Inputs inputs;
        private final boolean recorded;
        private final Deque<Tensor> blockInputs = new ArrayDeque<>();
        private final Deque<Saved> saved = new ArrayDeque<>();

        private Pass(Inputs inputs, boolean recorded) {
            this.inputs = inputs;
            this.recorded = recorded;
        }

        /** The hidden vectors after the last block, (T, hidden); the caller closes them. */
        @SuppressWarnings("try")
        private Tensor forward() {
            Tensor x = embed();
            for (int layer = 0; layer < config.layers(); layer++) {
                Tensor y;
                if (recorded && !checkpointing) {
                    Computed computed = computeBlock(layer, x, inputs, new Keeper(), true);
                    saved.push(computed.requireSaved());
                    y = computed.output();
                } else {
                    y = computeBlock(layer, x, inputs, null, true).output();
                }
                if (recorded && checkpointing) {
                    blockInputs.push(x);
                } else {
                    x.close();
                }
                x = y;
            }
            return x;
        }

        @SuppressWarnings("try")
        private Tensor embed() {
            try (PointerScope scope = new PointerScope()) {
                return Torch.keep(base.embedding()
                        .index_select(0, Torch.upload(inputs.packing().ids(), device)));
            }
        }

        /** Adds to the adapter's gradients, given that of the output. */
        @SuppressWarnings("try")
        void backward(Tensor gradientOfOutput) {
            Tensor gradient = Torch.keep(gradientOfOutput.detach());
            for (int layer = config.layers() - 1; layer >= 0; layer--) {
                try (PointerScope scope = new PointerScope()) {
                    Saved block;
                    if (checkpointing) {
                        Tensor x = blockInputs.pop();
                        Computed again = computeBlock(layer, x, inputs, new Keeper(), false);
                        again.output().close();
                        block = again.requireSaved();
                        x.close();
                    } else {
                        block = saved.pop();
                    }
                    Tensor before;
                    try (Keeper _ = block.keeper()) {
                        before = goBack(layer, block, gradient, inputs);
                    } finally {
                        gradient.close();
                    }
                    gradient = before;
                }
            }
            gradient.close();
        }

        @Override
        public void close() {
            blockInputs.forEach(Tensor::close);
            saved.forEach(block -> block.keeper().close());
            blockInputs.clear();
            saved.clear();
        }
    }

    /** A pass and what the last block gave. */
    record Forward(Pass pass, Tensor output) implements AutoCloseable {

        @Override
        public void close() {
            output.close();
            pass.close();
        }
    }

    private record Computed(Tensor output, @Nullable Saved saved) {

        Saved requireSaved() {
            if (saved == null) {
                throw new IllegalStateException("nothing was recorded");
            }
            return saved;
        }
    }

    Network(
            BaseWeights base,
            Adapter adapter,
            Device device,
            ScalarType type,
            boolean checkpointing,
            @Nullable GpuKernels kernels) {
        this.base = base;
        this.adapter = adapter;
        this.config = base.config();
        this.device = device;
        this.type = type;
        this.checkpointing = checkpointing;
        this.kernels = kernels;
        this.epsilon = keeper.keep(new DoubleOptional(config.normEpsilon()));
        this.one = keeper.keep(new Scalar(1.0));
        this.minusOne = keeper.keep(new Scalar(-1.0));
        this.scale = keeper.keep(new Scalar(adapter.settings().scale()));
        int half = config.headSize() / 2;
        this.cosines = keeper.keep(table(false, half));
        this.sines = keeper.keep(table(true, half));
    }

    private Tensor table(boolean sine, int half) {
        float[] values = config.rope().table(config.contextLength(), sine);
        return Torch.upload(values, device, type).view(config.contextLength(), 1, half);
    }

    /**
     * Runs the blocks.
     *
     * @param adapted whether the adapter takes part
     * @param dropoutSeed decides what is dropped; null: nothing
     * @param recorded whether the backward pass will follow
     */
    @SuppressWarnings("try")
    Forward forward(Packing packing, boolean adapted, @Nullable Long dropoutSeed, boolean recorded) {
        Tensor positions = Torch.upload(packing.positions(), device);
        Inputs inputs = new Inputs(
                packing,
                packing.runs().stream().map(this::worthPlanning).toList(),
                cosines.index_select(0, positions),
                sines.index_select(0, positions),
                adapted,
                adapter.settings().dropout() > 0 ? dropoutSeed : null);
        Pass pass = new Pass(inputs, recorded);
        try {
            return new Forward(pass, pass.forward());
        } catch (RuntimeException | Error e) {
            pass.close();
            throw e;
        }
    }

    /**
     * Whether attention of this shape has been asked for often enough: cuDNN's is the fastest, but it spends a tenth of a
     * second on planning each new shape, and most lengths come only a few times.
     */
    private boolean worthPlanning(Packing.Run run) {
        if (shapes.size() > MOST_SHAPES) {
            shapes.clear();
        }
        return shapes.merge(List.of(run.count(), run.length()), 1, Integer::sum) > PLANNED_AFTER;
    }

    /** RMS norm over the last dimension. */
    Segment norm(Tensor x, TensorOptional weight, @Nullable Keeper record) {
        return Segment.of(List.of(x), record, in -> List.of(normed(in.getFirst(), weight)));
    }

    private Tensor normed(Tensor x, TensorOptional weight) {
        return torch.rms_norm(x, new long[] {weight.get().size(0)}, weight, epsilon);
    }

    /**
     * Computes a block.
     *
     * @param record where to keep what the backward pass needs; null: nothing
     * @param whole whether the output is wanted, else it is empty; the caller closes it
     */
    @SuppressWarnings("try")
    private Computed computeBlock(int layer, Tensor x, Inputs in, @Nullable Keeper record, boolean whole) {
        try (PointerScope scope = new PointerScope()) {
            BaseWeights.Block weights = base.block(layer);
            int heads = config.heads();
            int keyHeads = config.keyValueHeads();
            int size = config.headSize();
            long tokens = in.tokens();

            Segment attentionNorm = norm(x, weights.attentionNorm(), record);
            Tensor qkv = Torch.empty(options(), tokens, Projection.ATTENTION_IN.outputs(config));
            Product attentionIn = multiply(layer, Projection.ATTENTION_IN, attentionNorm.output(), null, qkv, in);

            // Query and key heads, rotated, in one tensor: (T, heads + keyHeads, size).
            Tensor mixed = qkv.narrow(1, 0, (long) (heads + keyHeads) * size).view(tokens, heads + keyHeads, size);
            Segment headNorms = null;
            Tensor rotated = Torch.empty(options(), tokens, heads + keyHeads, size);
            TensorOptional queryNorm = weights.queryNorm();
            TensorOptional keyNorm = weights.keyNorm();
            if (queryNorm != null && keyNorm != null) {
                headNorms = Segment.of(
                        List.of(mixed.narrow(1, 0, heads), mixed.narrow(1, heads, keyHeads)),
                        record,
                        both -> List.of(normed(both.get(0), queryNorm), normed(both.get(1), keyNorm)));
                rotate(rotated.narrow(1, 0, heads), headNorms.outputs().get(0).detach(), in, 1);
                rotate(
                        rotated.narrow(1, heads, keyHeads),
                        headNorms.outputs().get(1).detach(),
                        in,
                        1);
            } else {
                rotate(rotated, mixed, in, 1);
            }

            Segment attention = attention(rotated, qkv, in, record);
            Tensor attended = joined(attention.outputs());
            Tensor y = Torch.empty(options(), tokens, config.hidden());
            Product attentionOut = multiply(layer, Projection.ATTENTION_OUT, attended, x, y, in);

            Segment feedForwardNorm = norm(y, weights.feedForwardNorm(), record);
            Tensor gateUp = Torch.empty(options(), tokens, 2L * config.feedForward());
            Product feedForwardIn =
                    multiply(layer, Projection.FEED_FORWARD_IN, feedForwardNorm.output(), null, gateUp, in);
            Tensor activated = gated(gateUp);
            Tensor output = Torch.empty(options(), whole ? tokens : 0, config.hidden());
            Product feedForwardOut = whole
                    ? multiply(layer, Projection.FEED_FORWARD_OUT, activated, y, output, in)
                    : new Product(activated, hidden(activated, layer, Projection.FEED_FORWARD_OUT, in));

            Saved saved = record == null
                    ? null
                    : new Saved(
                            record,
                            attentionNorm,
                            kept(attentionIn, record),
                            headNorms,
                            attention,
                            kept(attentionOut, record),
                            feedForwardNorm,
                            kept(feedForwardIn, record),
                            record.keep(gateUp),
                            kept(feedForwardOut, record));
            return new Computed(Torch.keep(output), saved);
        } catch (RuntimeException | Error e) {
            if (record != null) {
                record.close();
            }
            throw e;
        }
    }

    private static Product kept(Product product, Keeper record) {
        record.keep(product.input());
        Tensor hidden = product.hidden();
        if (hidden != null) {
            record.keep(hidden);
        }
        return product;
    }

    /** The gradient of a block's input from that of its output; adds to those of its factors. The caller closes it. */
    @SuppressWarnings("try")
    private Tensor goBack(int layer, Saved block, Tensor gradient, Inputs in) {
        try (PointerScope scope = new PointerScope()) {
            int heads = config.heads();
            int keyHeads = config.keyValueHeads();
            int size = config.headSize();
            long tokens = in.tokens();

            Tensor gateUpGradient = gatedBack(
                    multiplyBack(layer, Projection.FEED_FORWARD_OUT, block.feedForwardOut(), gradient, in),
                    block.gateUp());
            Tensor yGradient = block.feedForwardNorm()
                    .backward(
                            multiplyBack(layer, Projection.FEED_FORWARD_IN, block.feedForwardIn(), gateUpGradient, in))
                    .add_(gradient);

            Tensor attendedGradient =
                    multiplyBack(layer, Projection.ATTENTION_OUT, block.attentionOut(), yGradient, in);
            Tensor qkvGradient = Torch.empty(options(), tokens, Projection.ATTENTION_IN.outputs(config));
            Tensor mixed =
                    qkvGradient.narrow(1, 0, (long) (heads + keyHeads) * size).view(tokens, heads + keyHeads, size);
            Segment headNorms = block.headNorms();
            Tensor unrotated = headNorms == null ? mixed : Torch.empty(options(), tokens, heads + keyHeads, size);
            attentionBack(block.attention(), attendedGradient, unrotated, qkvGradient, in);
            if (headNorms != null) {
                List<Tensor> both = headNorms.backward(
                        List.of(unrotated.narrow(1, 0, heads), unrotated.narrow(1, heads, keyHeads)));
                mixed.narrow(1, 0, heads).copy_(both.get(0));
                mixed.narrow(1, heads, keyHeads).copy_(both.get(1));
            }
            Tensor normGradient = multiplyBack(layer, Projection.ATTENTION_IN, block.attentionIn(), qkvGradient, in);
            return Torch.keep(
                    new Tensor(block.attentionNorm().backward(normGradient).add_(yGradient)));
        }
    }

    /** silu(gate) ⊙ up of (T, 2 n): (T, n). */
    private Tensor gated(Tensor gateUp) {
        int wide = config.feedForward();
        if (kernels != null) {
            Tensor out = Torch.empty(options(), gateUp.size(0), wide);
            if (kernels.gated(gateUp, out)) {
                return out;
            }
        }
        return torch.silu(gateUp.narrow(1, 0, wide)).mul_(gateUp.narrow(1, wide, wide));
    }

    /** The gradient of {@code gateUp} from that of the product, which is overwritten. */
    private Tensor gatedBack(Tensor gradient, Tensor gateUp) {
        int wide = config.feedForward();
        Tensor result = Torch.empty(options(), gateUp.size(0), 2L * wide);
        if (kernels != null && kernels.gatedBack(gradient, gateUp, result)) {
            return result;
        }
        Tensor gate = gateUp.narrow(1, 0, wide);
        torch.mul_out(result.narrow(1, wide, wide), gradient, torch.silu(gate));
        torch.silu_backward_out(result.narrow(1, 0, wide), gradient.mul_(gateUp.narrow(1, wide, wide)), gate);
        return result;
    }

    /** Rotary embedding, half-split; with sign −1 its gradient. */
    private void rotate(Tensor target, Tensor source, Inputs in, int sign) {
        if (kernels != null && kernels.rotate(target, source, in.cos(), in.sin(), sign)) {
            return;
        }
        Scalar forSecond = sign > 0 ? one : minusOne;
        Scalar forFirst = sign > 0 ? minusOne : one;
        long half = config.headSize() / 2;
        Tensor first = source.narrow(2, 0, half);
        Tensor second = source.narrow(2, half, half);
        Tensor targetFirst = target.narrow(2, 0, half);
        Tensor targetSecond = target.narrow(2, half, half);
        torch.mul_out(targetFirst, first, in.cos());
        targetFirst.addcmul_(second, in.sin(), forFirst);
        torch.mul_out(targetSecond, second, in.cos());
        targetSecond.addcmul_(first, in.sin(), forSecond);
    }

    /** One output (tokens of the run, heads · size) a run. */
    private Segment attention(Tensor rotated, Tensor qkv, Inputs in, @Nullable Keeper record) {
        int heads = config.heads();
        int keyHeads = config.keyValueHeads();
        int size = config.headSize();
        List<Tensor> leaves = new ArrayList<>();
        Tensor values = qkv.narrow(1, (long) (heads + keyHeads) * size, (long) keyHeads * size);
        for (Packing.Run run : in.packing().runs()) {
            long tokens = run.count() * run.length();
            Tensor queriesAndKeys =
                    rotated.narrow(0, run.first(), tokens).view(run.count(), run.length(), heads + keyHeads, size);
            leaves.add(queriesAndKeys.narrow(2, 0, heads).transpose(1, 2));
            leaves.add(queriesAndKeys.narrow(2, heads, keyHeads).transpose(1, 2));
            leaves.add(values.narrow(0, run.first(), tokens)
                    .view(run.count(), run.length(), keyHeads, size)
                    .transpose(1, 2));
        }
        return Segment.of(leaves, record, inputs -> {
            List<Tensor> outputs = new ArrayList<>();
            for (int i = 0; i < inputs.size(); i += 3) {
                Tensor query = inputs.get(i);
                if (device.is_cuda()) {
                    torch.globalContext().setSDPUseCuDNN(in.planned().get(i / 3));
                }
                outputs.add(torch.scaled_dot_product_attention(
                                query, inputs.get(i + 1), inputs.get(i + 2), null, 0, true, null, heads != keyHeads)
                        .transpose(1, 2)
                        .reshape(query.size(0) * query.size(2), (long) heads * size));
            }
            return outputs;
        });
    }

    private static Tensor joined(List<Tensor> parts) {
        return parts.size() == 1
                ? parts.getFirst().detach()
                : torch.cat(new TensorVector(parts.toArray(Tensor[]::new)), 0).detach();
    }

    private void attentionBack(
            Segment attention, Tensor attendedGradient, Tensor unrotated, Tensor qkvGradient, Inputs in) {
        int heads = config.heads();
        int keyHeads = config.keyValueHeads();
        int size = config.headSize();
        List<Packing.Run> runs = in.packing().runs();
        List<Tensor> gradients = attention.backward(runs.stream()
                .map(run -> attendedGradient.narrow(0, run.first(), run.count() * run.length()))
                .toList());
        Tensor values = qkvGradient.narrow(1, (long) (heads + keyHeads) * size, (long) keyHeads * size);
        for (int i = 0; i < runs.size(); i++) {
            Packing.Run run = runs.get(i);
            long tokens = run.count() * run.length();
            Tensor cos = in.cos().narrow(0, run.first(), tokens);
            Tensor sin = in.sin().narrow(0, run.first(), tokens);
            Inputs ofRun = new Inputs(in.packing(), in.planned(), cos, sin, in.adapted(), in.dropoutSeed());
            Tensor target = unrotated.narrow(0, run.first(), tokens);
            Tensor queries = gradients.get(3 * i).transpose(1, 2).reshape(tokens, heads, size);
            Tensor keys = gradients.get(3 * i + 1).transpose(1, 2).reshape(tokens, keyHeads, size);
            rotate(target.narrow(1, 0, heads), queries, ofRun, -1);
            rotate(target.narrow(1, heads, keyHeads), keys, ofRun, -1);
            values.narrow(0, run.first(), tokens)
                    .view(run.count(), run.length(), keyHeads, size)
                    .copy_(gradients.get(3 * i + 2).transpose(1, 2));
        }
    }

    /** Writes the product of an input (T, inputs) with a matrix and its adapter, plus {@code added}, to the target. */
    private Product multiply(
            int layer, Projection projection, Tensor input, @Nullable Tensor added, Tensor target, Inputs in) {
        BaseWeights.Matrix matrix = base.block(layer).matrix(projection);
        Tensor bias = matrix.bias();
        if (added != null) {
            torch.addmm_out(target, added, input, matrix.transposed());
            if (bias != null) {
                target.add_(bias);
            }
        } else if (bias != null) {
            torch.addmm_out(target, bias, input, matrix.transposed());
        } else {
            torch.mm_out(target, input, matrix.transposed());
        }
        Adapter.Factors factors = in.adapted() ? adapter.factors(layer, projection) : null;
        Tensor hidden = hidden(input, layer, projection, in);
        if (factors == null || hidden == null) {
            return new Product(input, null);
        }
        for (Adapter.Up up : factors.ups()) {
            target.narrow(1, up.firstRow(), up.rows())
                    .addmm_(hidden.narrow(1, up.firstRank(), adapter.settings().rank()), up.transposed(), one, scale);
        }
        return new Product(input, hidden);
    }

    /** A · dropout(input), if the matrix has an adapter that takes part. */
    private @Nullable Tensor hidden(Tensor input, int layer, Projection projection, Inputs in) {
        Adapter.Factors factors = in.adapted() ? adapter.factors(layer, projection) : null;
        return factors == null ? null : dropped(input, layer, projection, in).mm(factors.transposed());
    }

    /** The gradient of a product's input from that of its output; adds to those of its factors. */
    private Tensor multiplyBack(int layer, Projection projection, Product product, Tensor gradient, Inputs in) {
        Tensor inputGradient = gradient.mm(base.block(layer).matrix(projection).weight());
        Adapter.Factors factors = in.adapted() ? adapter.factors(layer, projection) : null;
        Tensor hidden = product.hidden();
        if (factors == null || hidden == null) {
            return inputGradient;
        }
        int rank = adapter.settings().rank();
        Tensor hiddenGradient = Torch.empty(options(), in.tokens(), hidden.size(1));
        for (Adapter.Up up : factors.ups()) {
            Tensor part = gradient.narrow(1, up.firstRow(), up.rows());
            torch.mm_out(hiddenGradient.narrow(1, up.firstRank(), rank), part, up.b());
            addProduct(up.gradient(), part.t(), hidden.narrow(1, up.firstRank(), rank), scale);
        }
        hiddenGradient.mul_(scale);
        addProduct(factors.gradient(), hiddenGradient.t(), dropped(product.input(), layer, projection, in), one);
        if (in.dropoutSeed() == null) {
            return inputGradient.addmm_(hiddenGradient, factors.a());
        }
        return inputGradient.add_(hiddenGradient.mm(factors.a()).mul_(mask(product.input(), layer, projection, in)));
    }

    /** target += factor · left · right, also where the target has a wider type. */
    private void addProduct(Tensor target, Tensor left, Tensor right, Scalar factor) {
        if (target.scalar_type() == right.scalar_type()) {
            target.addmm_(left, right, one, factor);
        } else {
            target.add_(left.mm(right), factor);
        }
    }

    private Tensor dropped(Tensor input, int layer, Projection projection, Inputs in) {
        return in.dropoutSeed() == null ? input : input.mul(mask(input, layer, projection, in));
    }

    /** 0 for what is dropped, 1 / (1 − p) for the rest; the same whenever it is asked for. */
    private Tensor mask(Tensor input, int layer, Projection projection, Inputs in) {
        Long seed = in.dropoutSeed();
        if (seed == null) {
            throw new IllegalStateException("nothing is dropped");
        }
        double kept = 1 - adapter.settings().dropout();
        Tensor mask = torch.empty_like(input);
        // The generator is the process's: another run must not seed it between these two.
        synchronized (GENERATOR) {
            torch.manual_seed(mix(seed + layer * 4L + projection.ordinal()));
            mask.bernoulli_(kept, null);
        }
        return mask.div_(new Scalar(kept));
    }

    /** SplitMix64's finaliser: near seeds give unrelated masks. */
    static long mix(long seed) {
        long z = seed + 0x9E3779B97F4A7C15L;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }

    private TensorOptions options() {
        return Torch.options(type, device);
    }

    @Override
    public void close() {
        keeper.close();
    }
}
