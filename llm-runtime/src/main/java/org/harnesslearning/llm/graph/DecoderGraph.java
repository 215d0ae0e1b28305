package org.harnesslearning.llm.graph;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.checkpoint.Dequantiser;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.graph.GraphBuilder.Attribute;
import org.jspecify.annotations.Nullable;

/**
 * The ONNX graph of a Llama-like decoder with a sampling head.
 *
 * <p>Inputs, with B rows and S new tokens a row (S = 1, or B = 1):
 *
 * <ul>
 *   <li>{@value #EMBEDDINGS} float (B, S, hidden)
 *   <li>{@value #LAST_POSITIONS} int32 (B): tokens in the row after this step, minus 1
 *   <li>{@value #TOTAL_LENGTH} int32 (): their maximum, plus 1
 *   <li>{@value #INVERSE_TEMPERATURE} float (B, 1)
 *   <li>{@value #PENALTY} float (B, 1) and {@value #PENALISED} int64 (B, P): repetition penalty and the tokens it hits
 *   <li>{@value #PENALTY_OFFSETS} float (B, P): taken from the logits of those tokens after that
 *   <li>{@code past.<layer>.key|value} float (B, kv heads, sequence, head), the same memory as {@code present…}
 *   <li>where the graph takes adapters, {@value #ADAPTER_MASK} bool (B, 1, W) and two factors (W, inputs) and (W, outputs)
 *       for each matrix of the blocks, so that {@code y += where(mask, x · aᵀ, 0) · b}: the W rows are those of several
 *       adapters, one after the other, and the mask lets each row of the batch see only its own
 * </ul>
 *
 * <p>Outputs, all for the last token of each row: {@value #LOGITS} float (B, vocabulary), tempered;
 * {@value #TOP_LOGITS} float and {@value #TOP_TOKENS} int64 (B, {@link #TOP}); {@value #LOG_SUM} float (B, 1), the
 * logarithm of the sum of all exponentials.
 */
public final class DecoderGraph {

    public static final String EMBEDDINGS = "inputs_embeds";
    public static final String LAST_POSITIONS = "seqlens_k";
    public static final String TOTAL_LENGTH = "total_sequence_length";
    public static final String INVERSE_TEMPERATURE = "inverse_temperature";
    public static final String PENALTY = "repetition_penalty";
    public static final String PENALISED = "penalised_tokens";
    public static final String PENALTY_OFFSETS = "penalty_offsets";
    public static final String ADAPTER_MASK = "adapter_mask";
    public static final String RAW_LOGITS = "raw_logits";
    public static final String LOGITS = "logits";
    public static final String TOP_LOGITS = "top_logits";
    public static final String TOP_TOKENS = "top_tokens";
    public static final String LOG_SUM = "log_sum_exp";

    /** Most candidates a row that leave the device. */
    public static final int MAX_TOP = 64;

    private static final String HEAD = "lm_head";
    private static final int FINE_BLOCK = 16;

    /** Models of fewer weights round the inputs of their matrices in fine blocks. */
    private static final long FINE_BELOW = 300_000_000;

    private final Checkpoint checkpoint;
    private final DecoderConfig config;
    private final Options options;
    private final GraphBuilder graph = new GraphBuilder();
    private final List<AdapterInput> adapterInputs = new ArrayList<>();
    private final Map<String, String> blockSums = new HashMap<>();

    private DecoderGraph(Checkpoint checkpoint, Options options) {
        this.checkpoint = checkpoint;
        this.config = checkpoint.config();
        this.options = options;
    }

    /**
     * A serialised model and the weights it refers to.
     *
     * @param model {@code ModelProto} without the weights
     * @param weights their names, shapes and how to fill them
     * @param top candidates a row
     * @param adapters the inputs for adapters; empty where the graph takes none
     */
    public record Built(byte[] model, List<Weight> weights, int top, List<AdapterInput> adapters) {

        public Built {
            weights = List.copyOf(weights);
            adapters = List.copyOf(adapters);
        }
    }

    /**
     * The inputs for the low-rank factors of one matrix.
     *
     * @param matrix e.g. {@code blk.0.attn_q}
     * @param inputs columns of the matrix
     * @param outputs rows of the matrix
     */
    public record AdapterInput(String matrix, int inputs, int outputs) {

        /** Name of the input (W, inputs). */
        public String a() {
            return matrix + ".lora_a";
        }

        /** Name of the input (W, outputs). */
        public String b() {
            return matrix + ".lora_b";
        }
    }

    /** Names of the cache inputs and outputs of a layer: past key, past value, present key, present value. */
    public static List<String> cacheNames(int layer) {
        return List.of(
                "past." + layer + ".key",
                "past." + layer + ".value",
                "present." + layer + ".key",
                "present." + layer + ".value");
    }

    /**
     * How a graph is made.
     *
     * @param positions longest sequence; the rotary tables have so many rows
     * @param dequantise whether quantised matrices become fp32
     * @param fine whether the inputs of the blocks' matrices are rounded to int8 with a scale for 16 values instead of
     *     32. This loses less of a value whose neighbours are large, and takes more time; small models need it, as each
     *     of their few dimensions counts for more.
     * @param adapters whether the graph takes adapters
     */
    public record Options(int positions, boolean dequantise, boolean fine, boolean adapters) {

        /** What suits a checkpoint; without adapters. */
        public static Options of(Checkpoint checkpoint, int positions, boolean dequantise) {
            long weights =
                    checkpoint.tensors().stream().mapToLong(Tensor::elements).sum();
            return new Options(positions, dequantise, weights < FINE_BELOW, false);
        }

        public Options withFine(boolean value) {
            return new Options(positions, dequantise, value, adapters);
        }

        public Options withAdapters(boolean value) {
            return new Options(positions, dequantise, fine, value);
        }
    }

    /** Builds the sampling head alone, over an input {@value #RAW_LOGITS} float (B, vocabulary). */
    public static Built headOnly(int vocabulary) {
        GraphBuilder graph = new GraphBuilder();
        graph.input(RAW_LOGITS, ElementType.FLOAT, "batch", vocabulary);
        headInputs(graph);
        int top = head(graph, RAW_LOGITS, vocabulary);
        return new Built(graph.model(), graph.weights(), top, List.of());
    }

    private static void headInputs(GraphBuilder graph) {
        graph.input(INVERSE_TEMPERATURE, ElementType.FLOAT, "batch", 1);
        graph.input(PENALTY, ElementType.FLOAT, "batch", 1);
        graph.input(PENALISED, ElementType.INT64, "batch", "penalised");
        graph.input(PENALTY_OFFSETS, ElementType.FLOAT, "batch", "penalised");
    }

    /** Builds the graph. */
    public static Built build(Checkpoint checkpoint, Options options) {
        return new DecoderGraph(checkpoint, options).build();
    }

    private Built build() {
        graph.input(EMBEDDINGS, ElementType.FLOAT, "batch", "sequence", config.hidden());
        graph.input(LAST_POSITIONS, ElementType.INT32, "batch");
        graph.input(TOTAL_LENGTH, ElementType.INT32);
        headInputs(graph);
        if (options.adapters()) {
            graph.input(ADAPTER_MASK, ElementType.BOOL, "batch", 1, "adapter_rows");
            vector("adapter_off", new float[1], 1);
        }
        ropeTable("cos_cache", false);
        ropeTable("sin_cache", true);

        String residual = EMBEDDINGS;
        String normed = norm(residual, vector("blk.0.attn_norm.weight", checkpoint.tensor(0, "attn_norm.weight")));
        for (int layer = 0; layer < config.layers(); layer++) {
            String attention = attention(layer, normed);
            if (layer == config.layers() - 1) {
                // Only the last token's output is wanted: the rest of the last block is skipped for the others.
                attention = lastToken(attention);
                residual = lastToken(residual);
            }
            String projected = linear(attention, layer, "attn_output", RowOrder.NATURAL);
            Sum middle = addAndNorm(projected, residual, layer, "ffn_norm.weight");
            String feedForward = feedForward(layer, middle.normed());
            Sum end = layer == config.layers() - 1
                    ? addAndNorm(
                            feedForward,
                            middle.residual(),
                            vector("output_norm.weight", checkpoint.tensor("output_norm.weight")))
                    : addAndNorm(feedForward, middle.residual(), layer + 1, "attn_norm.weight");
            residual = end.residual();
            normed = end.normed();
        }
        int top = head(normed);
        return new Built(graph.model(), graph.weights(), top, adapterInputs);
    }

    private String attention(int layer, String input) {
        RowOrder order = checkpoint.interleavedHeads() ? RowOrder.deinterleaved(config.headSize()) : RowOrder.NATURAL;
        String query = linear(input, layer, "attn_q", order);
        String key = linear(input, layer, "attn_k", order);
        String value = linear(input, layer, "attn_v", RowOrder.NATURAL);
        query = headNorm(query, layer, "attn_q_norm.weight", config.heads());
        key = headNorm(key, layer, "attn_k_norm.weight", config.keyValueHeads());
        List<String> cache = cacheNames(layer);
        for (String name : cache.subList(0, 2)) {
            graph.input(name, ElementType.FLOAT, "batch", config.keyValueHeads(), "cache_length", config.headSize());
        }
        for (String name : cache.subList(2, 4)) {
            graph.output(name, ElementType.FLOAT, "batch", config.keyValueHeads(), "cache_length", config.headSize());
        }
        String output = graph.fresh("attention");
        graph.node(
                GraphBuilder.MICROSOFT,
                "GroupQueryAttention",
                List.of(
                        query,
                        key,
                        value,
                        cache.get(0),
                        cache.get(1),
                        LAST_POSITIONS,
                        TOTAL_LENGTH,
                        "cos_cache",
                        "sin_cache"),
                List.of(output, cache.get(2), cache.get(3)),
                Attribute.of("num_heads", config.heads()),
                Attribute.of("kv_num_heads", config.keyValueHeads()),
                Attribute.of("do_rotary", 1),
                Attribute.of("rotary_interleaved", 0));
        return output;
    }

    private String headNorm(String input, int layer, String part, int heads) {
        Tensor weight = checkpoint.find(layer, part);
        if (weight == null) {
            return input;
        }
        String split = graph.node("", "Reshape", List.of(input, graph.constant(0, 0, heads, config.headSize())));
        String normed = norm(split, vector(weight.name(), weight));
        return graph.node("", "Reshape", List.of(normed, graph.constant(0, 0, (long) heads * config.headSize())));
    }

    private String feedForward(int layer, String input) {
        String gate = linear(input, layer, "ffn_gate", RowOrder.NATURAL);
        String up = linear(input, layer, "ffn_up", RowOrder.NATURAL);
        // QuickGelu with alpha 1 is SiLU: x * sigmoid(x).
        String activated = graph.node(GraphBuilder.MICROSOFT, "QuickGelu", List.of(gate), Attribute.of("alpha", 1f));
        String product = graph.node("", "Mul", List.of(activated, up));
        return linear(product, layer, "ffn_down", RowOrder.NATURAL);
    }

    /** Adds penalty, temperature, top-k and log-sum-exp, and returns how many candidates a row come out. */
    private int head(String normed) {
        String product = matrix(normed, HEAD, checkpoint.head(), RowOrder.NATURAL, null);
        String raw = graph.node("", "Reshape", List.of(product, graph.constant(-1, config.vocabulary())));
        return head(graph, raw, config.vocabulary());
    }

    private static int head(GraphBuilder graph, String raw, int vocabulary) {
        String seen = graph.node("", "GatherElements", List.of(raw, PENALISED), Attribute.of("axis", 1));
        // max(x, 0) / p + min(x, 0) * p - offset
        String positive = graph.node("", "Div", List.of(graph.node("", "Relu", List.of(seen)), PENALTY));
        String minus = graph.node("", "Relu", List.of(graph.node("", "Neg", List.of(seen))));
        String negative = graph.node("", "Mul", List.of(minus, PENALTY));
        String repeated = graph.node("", "Sub", List.of(positive, negative));
        String penalised = graph.node("", "Sub", List.of(repeated, PENALTY_OFFSETS));
        String updated = graph.node("", "ScatterElements", List.of(raw, PENALISED, penalised), Attribute.of("axis", 1));
        graph.node("", "Mul", List.of(updated, INVERSE_TEMPERATURE), List.of(LOGITS));
        int top = Math.min(MAX_TOP, vocabulary);
        graph.node(
                "",
                "TopK",
                List.of(LOGITS, graph.constant(top)),
                List.of(TOP_LOGITS, TOP_TOKENS),
                Attribute.of("axis", -1),
                Attribute.of("largest", 1),
                Attribute.of("sorted", 1));
        graph.node(
                "",
                "ReduceLogSumExp",
                List.of(LOGITS, graph.constant(-1)),
                List.of(LOG_SUM),
                Attribute.of("keepdims", 1));
        graph.output(LOGITS, ElementType.FLOAT, "batch", vocabulary);
        graph.output(TOP_LOGITS, ElementType.FLOAT, "batch", top);
        graph.output(TOP_TOKENS, ElementType.INT64, "batch", top);
        graph.output(LOG_SUM, ElementType.FLOAT, "batch", 1);
        return top;
    }

    private String lastToken(String input) {
        return graph.node(
                "", "Slice", List.of(input, graph.constant(-1), graph.constant(Long.MAX_VALUE), graph.constant(1)));
    }

    private String norm(String input, String weight) {
        return graph.node(
                "",
                "SimplifiedLayerNormalization",
                List.of(input, weight),
                Attribute.of("axis", -1),
                Attribute.of("epsilon", config.normEpsilon()),
                Attribute.of("stash_type", 1));
    }

    private Sum addAndNorm(String input, String residual, int layer, String part) {
        Tensor weight = checkpoint.tensor(layer, part);
        return addAndNorm(input, residual, vector(weight.name(), weight));
    }

    private Sum addAndNorm(String input, String residual, String weight) {
        String normed = graph.fresh("normed");
        String sum = graph.fresh("residual");
        graph.node(
                GraphBuilder.MICROSOFT,
                "SkipSimplifiedLayerNormalization",
                List.of(input, residual, weight),
                List.of(normed, "", "", sum),
                Attribute.of("epsilon", config.normEpsilon()));
        return new Sum(normed, sum);
    }

    private record Sum(String normed, String residual) {}

    private String linear(String input, int layer, String part, RowOrder order) {
        Tensor weight = checkpoint.tensor(layer, part + ".weight");
        String product = matrix(input, weight.name(), weight, order, checkpoint.find(layer, part + ".bias"));
        return options.adapters()
                ? graph.node("", "Add", List.of(product, adapterTerm(input, layer, part, weight)))
                : product;
    }

    /** What the adapters add to {@code input × weightᵀ}, with outputs in their natural order. */
    private String adapterTerm(String input, int layer, String part, Tensor weight) {
        AdapterInput factors = new AdapterInput(
                "blk." + layer + "." + part,
                Math.toIntExact(weight.shape().getLast()),
                Math.toIntExact(weight.shape().getFirst()));
        adapterInputs.add(factors);
        graph.input(factors.a(), ElementType.FLOAT, "adapter_rows", factors.inputs());
        graph.input(factors.b(), ElementType.FLOAT, "adapter_rows", factors.outputs());
        String narrow = graph.node(
                GraphBuilder.MICROSOFT, "FusedMatMul", List.of(input, factors.a()), Attribute.of("transB", 1));
        // Not a product with the mask: another adapter's infinity would become a NaN.
        String own = graph.node("", "Where", List.of(ADAPTER_MASK, narrow, "adapter_off"));
        return graph.node("", "MatMul", List.of(own, factors.b()));
    }

    /** {@code input × weightᵀ + bias} with the weight in the form that suits its type. */
    private String matrix(String input, String name, Tensor weight, RowOrder order, @Nullable Tensor bias) {
        String biasName = bias == null ? "" : biasVector(bias, order);
        if (options.dequantise() || !weight.type().quantised()) {
            return denseMatrix(input, name, weight, order, biasName);
        }
        long rows = weight.shape().getFirst();
        long columns = weight.shape().getLast();
        BlockPacker.Form form = BlockPacker.Form.of(weight.type());
        long blocks = columns / form.block;
        // The operator rounds its input in blocks as long as the weight's: halves with the same scale compute the same.
        int parts = options.fine() && !name.equals(HEAD) && form.block > FINE_BLOCK ? form.block / FINE_BLOCK : 1;
        List<Weight.Spec> specs = new ArrayList<>(List.of(
                new Weight.Spec(
                        name + ".quants",
                        ElementType.UINT8,
                        true,
                        rows,
                        blocks * parts,
                        form.block * form.bits / 8 / parts),
                new Weight.Spec(name + ".scales", ElementType.FLOAT, false, rows, blocks * parts)));
        if (form.offset) {
            specs.add(new Weight.Spec(name + ".offsets", ElementType.FLOAT, true, rows, blocks));
        }
        graph.weight(new Weight(specs, targets -> {
            MemorySegment scales = targets.get(1);
            BlockPacker.pack(weight, order, targets.get(0), scales, form.offset ? targets.get(2) : MemorySegment.NULL);
            repeatEach(scales, rows * blocks, parts);
        }));
        List<String> inputs = new ArrayList<>(List.of(input, name + ".quants", name + ".scales"));
        if (!biasName.isEmpty()) {
            inputs.addAll(List.of("", "", biasName));
        }
        String product = graph.node(
                GraphBuilder.MICROSOFT,
                "MatMulNBits",
                inputs,
                Attribute.of("K", columns),
                Attribute.of("N", rows),
                Attribute.of("bits", form.bits),
                Attribute.of("block_size", form.block / parts),
                Attribute.of("accuracy_level", 4));
        if (!form.offset) {
            return product;
        }
        String correction = graph.node(
                GraphBuilder.MICROSOFT,
                "FusedMatMul",
                List.of(blockSums(input, form.block), name + ".offsets"),
                Attribute.of("transB", 1));
        return graph.node("", "Add", List.of(product, correction));
    }

    /** Spreads the first {@code count} floats so that each stands {@code times} times in a row, in place. */
    private static void repeatEach(MemorySegment values, long count, int times) {
        // From the end: nothing is overwritten before it is read.
        for (long i = count * times - 1; times > 1 && i >= 0; i--) {
            values.setAtIndex(ValueLayout.JAVA_FLOAT, i, values.getAtIndex(ValueLayout.JAVA_FLOAT, i / times));
        }
    }

    private String denseMatrix(String input, String name, Tensor weight, RowOrder order, String biasName) {
        int rows = Math.toIntExact(weight.shape().getFirst());
        int columns = Math.toIntExact(weight.shape().getLast());
        graph.weight(new Weight(List.of(new Weight.Spec(name, ElementType.FLOAT, true, rows, columns)), targets -> {
            float[] values = new float[columns];
            for (int row = 0; row < rows; row++) {
                Dequantiser.row(weight, order.storedRow(row), values, 0);
                MemorySegment.copy(
                        values, 0, targets.getFirst(), ValueLayout.JAVA_FLOAT, (long) row * columns * 4, columns);
            }
        }));
        String product =
                graph.node(GraphBuilder.MICROSOFT, "FusedMatMul", List.of(input, name), Attribute.of("transB", 1));
        return biasName.isEmpty() ? product : graph.node("", "Add", List.of(product, biasName));
    }

    /** Sums of {@code input} over blocks of its last axis, computed once for all matrices that share the input. */
    private String blockSums(String input, int block) {
        return blockSums.computeIfAbsent(input, key -> {
            String split = graph.node("", "Reshape", List.of(input, graph.constant(0, 0, -1, block)));
            return graph.node("", "ReduceSum", List.of(split, graph.constant(-1)), Attribute.of("keepdims", 0));
        });
    }

    private String biasVector(Tensor bias, RowOrder order) {
        float[] stored = Dequantiser.all(bias);
        float[] ordered = new float[stored.length];
        for (int i = 0; i < stored.length; i++) {
            ordered[i] = stored[order.storedRow(i)];
        }
        return vector(bias.name(), ordered, ordered.length);
    }

    private String vector(String name, Tensor tensor) {
        float[] values = Dequantiser.all(tensor);
        return vector(name, values, values.length);
    }

    private void ropeTable(String name, boolean sine) {
        vector(name, config.rope().table(options.positions(), sine), options.positions(), config.headSize() / 2);
    }

    private String vector(String name, float[] values, long... shape) {
        graph.weight(new Weight(
                List.of(new Weight.Spec(name, ElementType.FLOAT, false, shape)),
                targets ->
                        MemorySegment.copy(values, 0, targets.getFirst(), ValueLayout.JAVA_FLOAT, 0, values.length)));
        return name;
    }
}
