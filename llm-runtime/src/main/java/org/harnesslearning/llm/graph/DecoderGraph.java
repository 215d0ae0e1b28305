package org.harnesslearning.llm.graph;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.checkpoint.Dequantiser;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.harnesslearning.llm.graph.GraphBuilder.Attribute;
import org.harnesslearning.llm.product.ProductOperator;
import org.jspecify.annotations.Nullable;

/**
 * The ONNX graph of a Llama-like decoder with a sampling head.
 *
 * <p>Inputs, with B rows and S new tokens a row (S = 1, or B = 1), T the target's number type:
 *
 * <ul>
 *   <li>on a processor {@value #EMBEDDINGS} float (B, S, hidden), on a GPU {@value #TOKENS} int32 (B, S)
 *   <li>{@value #LAST_POSITIONS} int32 (B): tokens in the row after this step, minus 1
 *   <li>{@value #TOTAL_LENGTH} int32 (): their maximum, plus 1; not where attention is our own
 *   <li>{@value #INVERSE_TEMPERATURE} float (B, 1)
 *   <li>{@value #PENALTY} float (B, 1) and {@value #PENALISED} int64 (B, P): repetition penalty and the tokens it hits
 *   <li>{@value #PENALTY_OFFSETS} float (B, P): taken from the logits of those tokens after that
 *   <li>{@code past.<layer>.key|value} T (B, kv heads, sequence, head), the same memory as {@code present…}; where
 *       attention is our own it writes into this input, there is no output, and a row whose {@value #LAST_POSITIONS} is
 *       negative is left alone
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
    public static final String TOKENS = "input_ids";
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

    /** Domain of the operators that are not ONNX Runtime's. */
    public static final String OWN_DOMAIN = GraphBuilder.OWN;

    /** Most candidates a row that leave the device. */
    public static final int MAX_TOP = 64;

    private static final String HEAD = "lm_head";
    private static final int FINE_BLOCK = 16;

    /** The kernels compute so many rows of a matrix at once. */
    private static final int VNNI_ROWS = 16;

    /** Models of fewer weights need the inputs of their matrices rounded in fine blocks. */
    private static final long FINE_BELOW = 300_000_000;

    private final Checkpoint checkpoint;
    private final DecoderConfig config;
    private final Options options;
    private final Target target;
    private final GraphBuilder graph = new GraphBuilder();
    private final List<AdapterInput> adapterInputs = new ArrayList<>();
    private final Map<String, String> blockSums = new HashMap<>();
    private final Set<String> declared = new HashSet<>();
    private final List<List<StoredMatrix>> products = new ArrayList<>();
    private final Map<String, String> sharedProducts = new HashMap<>();

    private DecoderGraph(Checkpoint checkpoint, Options options, Target target) {
        this.checkpoint = checkpoint;
        this.config = checkpoint.config();
        this.options = options;
        this.target = target;
    }

    /**
     * A serialised model and the weights it refers to.
     *
     * @param model {@code ModelProto} without the weights
     * @param weights their names, shapes and how to fill them
     * @param top candidates a row
     * @param adapters the inputs for adapters; empty where the graph takes none
     * @param kernels who multiplies with {@code products}
     * @param products the matrices of each {@link ProductOperator} node, by its number
     */
    public record Built(
            byte[] model,
            List<Weight> weights,
            int top,
            List<AdapterInput> adapters,
            ProductKernels kernels,
            List<List<StoredMatrix>> products) {

        public Built {
            weights = List.copyOf(weights);
            adapters = List.copyOf(adapters);
            products = products.stream().map(List::copyOf).toList();
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
     *     32, and the last matrix, to the logits, is computed in fp32. This loses less of a value whose neighbours are
     *     large, and takes more time; small models need it, as each of their few dimensions counts for more.
     * @param kernels who multiplies with quantised matrices; if it is not ONNX Runtime, they do by {@link ProductOperator},
     *     and {@code fine} is of no account
     * @param adapters whether the graph takes adapters
     */
    public record Options(int positions, boolean dequantise, boolean fine, ProductKernels kernels, boolean adapters) {

        public Options {
            if (dequantise && kernels != ProductKernels.ONNX) {
                throw new IllegalArgumentException("dequantised matrices are multiplied by ONNX Runtime");
            }
        }

        /** What suits a checkpoint; without adapters. */
        public static Options of(Checkpoint checkpoint, int positions, boolean dequantise) {
            return new Options(positions, dequantise, needsFineRounding(checkpoint), ProductKernels.ONNX, false);
        }

        public Options withFine(boolean value) {
            return new Options(positions, dequantise, value, kernels, adapters);
        }

        public Options withKernels(ProductKernels value) {
            return new Options(positions, dequantise, fine, value, adapters);
        }

        public Options withAdapters(boolean value) {
            return new Options(positions, dequantise, fine, kernels, value);
        }
    }

    /** Builds the sampling head alone, over an input {@value #RAW_LOGITS} float (B, vocabulary). */
    public static Built headOnly(int vocabulary) {
        GraphBuilder graph = new GraphBuilder();
        graph.input(RAW_LOGITS, ElementType.FLOAT, "batch", vocabulary);
        headInputs(graph);
        int top = head(graph, RAW_LOGITS, vocabulary);
        return new Built(graph.model(), graph.weights(), top, List.of(), ProductKernels.ONNX, List.of());
    }

    private static void headInputs(GraphBuilder graph) {
        graph.input(INVERSE_TEMPERATURE, ElementType.FLOAT, "batch", 1);
        graph.input(PENALTY, ElementType.FLOAT, "batch", 1);
        graph.input(PENALISED, ElementType.INT64, "batch", "penalised");
        graph.input(PENALTY_OFFSETS, ElementType.FLOAT, "batch", "penalised");
    }

    /** Whether the model is so small that rounding inputs by blocks of 32 values or more costs too much. */
    public static boolean needsFineRounding(Checkpoint checkpoint) {
        return checkpoint.parameters() < FINE_BELOW;
    }

    /** Builds the graph for the host's processor. */
    public static Built build(Checkpoint checkpoint, Options options) {
        return build(checkpoint, options, Target.processor());
    }

    /**
     * Builds the graph for a target. The weights of graphs of one checkpoint for the same number type on a GPU have the
     * same names and values.
     */
    public static Built build(Checkpoint checkpoint, Options options, Target target) {
        return new DecoderGraph(checkpoint, options, target).build();
    }

    private Built build() {
        if (target.gpu()) {
            graph.input(TOKENS, ElementType.INT32, "batch", "sequence");
        } else {
            graph.input(EMBEDDINGS, ElementType.FLOAT, "batch", "sequence", config.hidden());
        }
        graph.input(LAST_POSITIONS, ElementType.INT32, "batch");
        if (!target.ownAttention()) {
            graph.input(TOTAL_LENGTH, ElementType.INT32);
        }
        headInputs(graph);
        if (options.adapters()) {
            graph.input(ADAPTER_MASK, ElementType.BOOL, "batch", 1, "adapter_rows");
            vector("adapter_off", new float[1], 1);
        }
        ropeTable("cos_cache", false);
        ropeTable("sin_cache", true);

        String residual = target.gpu() ? embedded() : EMBEDDINGS;
        if (target.singleRow()) {
            int candidates = singleRow(residual);
            return new Built(graph.model(), graph.weights(), candidates, adapterInputs, options.kernels(), products);
        }
        String normed = norm(residual, vector("blk.0.attn_norm.weight", checkpoint.tensor(0, "attn_norm.weight")));
        for (int layer = 0; layer < config.layers(); layer++) {
            String attention = attention(layer, normed);
            if (layer == config.layers() - 1 && !target.oneToken()) {
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
        return new Built(graph.model(), graph.weights(), top, adapterInputs, options.kernels(), products);
    }

    /** Embeddings of the tokens, from a table on the device. */
    private String embedded() {
        String table =
                denseWeight(checkpoint.untied() ? "token_embd.weight" : HEAD, List.of(part(checkpoint.embedding())));
        return graph.node("", "Gather", List.of(table, TOKENS), Attribute.of("axis", 0));
    }

    private String attention(int layer, String input) {
        RowOrder order = rotaryOrder();
        boolean headNorms = checkpoint.find(layer, "attn_q_norm.weight") != null;
        String query;
        String key;
        String value;
        if (packs(layer, "attn_q", "attn_k", "attn_v")) {
            String packed = packed(input, layer, "attn_qkv", queryKeyValue(layer));
            if (target.ownAttention() || !headNorms) {
                return attend(layer, packed, "", "");
            }
            query = graph.fresh("query");
            key = graph.fresh("key");
            value = graph.fresh("value");
            graph.node(
                    "",
                    "Split",
                    List.of(
                            packed,
                            graph.constant(config.queryWidth(), config.keyValueWidth(), config.keyValueWidth())),
                    List.of(query, key, value),
                    Attribute.of("axis", -1));
            // Attention takes a value of unknown shape for a sign that query, key and value are packed.
            value = graph.node("", "Reshape", List.of(value, graph.constant(0, 0, config.keyValueWidth())));
        } else {
            shareInput(input, layer, List.of("attn_q", "attn_k", "attn_v"), List.of(order, order, RowOrder.NATURAL));
            query = linear(input, layer, "attn_q", order);
            key = linear(input, layer, "attn_k", order);
            value = linear(input, layer, "attn_v", RowOrder.NATURAL);
            if (multipliedAsStored(checkpoint.tensor(layer, "attn_v.weight"))) {
                // The shape of our own operator's output is not inferred; see above.
                value = graph.node("", "Reshape", List.of(value, graph.constant(0, 0, config.keyValueWidth())));
            }
        }
        if (!target.ownAttention()) {
            query = headNorm(query, layer, "attn_q_norm.weight", config.heads());
            key = headNorm(key, layer, "attn_k_norm.weight", config.keyValueHeads());
        }
        return attend(layer, query, key, value);
    }

    /**
     * Whether matrices with the same input are multiplied as one. With adapters they are not: each has a term of its own,
     * and putting results side by side is slow and cannot be captured.
     */
    private boolean packs(int layer, String... parts) {
        return target.gpu() && !options.adapters() && denseOnTarget(layer, parts);
    }

    private RowOrder rotaryOrder() {
        return checkpoint.interleavedHeads() ? RowOrder.deinterleaved(config.headSize()) : RowOrder.NATURAL;
    }

    private List<Part> queryKeyValue(int layer) {
        return List.of(
                part(layer, "attn_q", rotaryOrder()),
                part(layer, "attn_k", rotaryOrder()),
                part(layer, "attn_v", RowOrder.NATURAL));
    }

    /** Attention over the cache; with empty {@code key} and {@code value} the three are packed in {@code query}. */
    private String attend(int layer, String query, String key, String value) {
        List<String> cache = cacheNames(layer);
        for (String name : cache.subList(0, 2)) {
            graph.input(name, target.type(), "batch", config.keyValueHeads(), "cache_length", config.headSize());
        }
        if (target.ownAttention()) {
            List<String> inputs = new ArrayList<>(
                    List.of(query, key, value, cache.get(0), cache.get(1), LAST_POSITIONS, "cos_cache", "sin_cache"));
            for (String part : List.of("attn_q_norm.weight", "attn_k_norm.weight")) {
                Tensor norm = checkpoint.find(layer, part);
                if (norm != null) {
                    inputs.add(vector(norm.name(), norm));
                }
            }
            return graph.node(GraphBuilder.OWN, "CachedAttention", inputs);
        }
        for (String name : cache.subList(2, 4)) {
            graph.output(name, target.type(), "batch", config.keyValueHeads(), "cache_length", config.headSize());
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
        if (target.own() && packs(layer, "ffn_gate", "ffn_up")) {
            String both = packed(input, layer, "ffn_gate_up", gateUp(layer));
            return linear(graph.node(GraphBuilder.OWN, "SwiGlu", List.of(both)), layer, "ffn_down", RowOrder.NATURAL);
        }
        shareInput(input, layer, List.of("ffn_gate", "ffn_up"), List.of(RowOrder.NATURAL, RowOrder.NATURAL));
        String gate = linear(input, layer, "ffn_gate", RowOrder.NATURAL);
        String up = linear(input, layer, "ffn_up", RowOrder.NATURAL);
        // QuickGelu with alpha 1 is SiLU: x * sigmoid(x).
        String activated = graph.node(GraphBuilder.MICROSOFT, "QuickGelu", List.of(gate), Attribute.of("alpha", 1f));
        String product = graph.node("", "Mul", List.of(activated, up));
        return linear(product, layer, "ffn_down", RowOrder.NATURAL);
    }

    private List<Part> gateUp(int layer) {
        return List.of(part(layer, "ffn_gate", RowOrder.NATURAL), part(layer, "ffn_up", RowOrder.NATURAL));
    }

    /**
     * The whole decoder for one token of one row, by operators that multiply a matrix by a vector at the speed of
     * memory: each normalises its input (where it has a norm weight), and adds a residual to its result or gates it.
     */
    private int singleRow(String embedded) {
        String residual = embedded;
        for (int layer = 0; layer < config.layers(); layer++) {
            String qkv = matVec(
                    residual,
                    norm(layer, "attn_norm.weight"),
                    denseWeight("blk." + layer + ".attn_qkv", queryKeyValue(layer)),
                    bias("blk." + layer + ".attn_qkv", queryKeyValue(layer)),
                    "");
            List<Part> output = List.of(part(layer, "attn_output", RowOrder.NATURAL));
            String outputName = output.getFirst().weight().name();
            String middle = matVec(
                    attend(layer, qkv, "", ""),
                    "",
                    denseWeight(outputName, output),
                    bias(outputName, output),
                    residual);
            String gated = graph.node(
                    GraphBuilder.OWN,
                    "MatVecSwiGlu",
                    List.of(
                            middle,
                            norm(layer, "ffn_norm.weight"),
                            denseWeight("blk." + layer + ".ffn_gate_up", gateUp(layer))));
            List<Part> down = List.of(part(layer, "ffn_down", RowOrder.NATURAL));
            residual = matVec(gated, "", denseWeight(down.getFirst().weight().name(), down), "", middle);
        }
        Tensor weight = checkpoint.tensor("output_norm.weight");
        String logits = matVec(
                residual, vector(weight.name(), weight), denseWeight(HEAD, List.of(part(checkpoint.head()))), "", "");
        return shape(graph.node("", "Reshape", List.of(logits, graph.constant(-1, config.vocabulary()))));
    }

    private String norm(int layer, String part) {
        Tensor weight = checkpoint.tensor(layer, part);
        return vector(weight.name(), weight);
    }

    private String matVec(String input, String norm, String weight, String bias, String residual) {
        return graph.node(GraphBuilder.OWN, "MatVec", List.of(input, norm, weight, bias, residual));
    }

    /** Adds penalty, temperature, top-k and log-sum-exp, and returns how many candidates a row come out. */
    private int head(String normed) {
        String product = target.gpu()
                ? product(normed, denseWeight(HEAD, List.of(part(checkpoint.head()))))
                : matrix(normed, HEAD, checkpoint.head(), RowOrder.NATURAL, null);
        return shape(graph.node("", "Reshape", List.of(product, graph.constant(-1, config.vocabulary()))));
    }

    /** The part of the head after the logits (B, vocabulary). */
    private int shape(String logits) {
        if (target.own()) {
            graph.node(
                    GraphBuilder.OWN,
                    "SamplingHead",
                    List.of(logits, INVERSE_TEMPERATURE, PENALTY, PENALISED, PENALTY_OFFSETS),
                    List.of(LOGITS, TOP_LOGITS, TOP_TOKENS, LOG_SUM));
            return headOutputs(graph, config.vocabulary());
        }
        String raw = target.type() == ElementType.FLOAT
                ? logits
                : graph.node("", "Cast", List.of(logits), Attribute.of("to", ElementType.FLOAT.id()));
        return head(graph, raw, config.vocabulary());
    }

    private static int headOutputs(GraphBuilder graph, int vocabulary) {
        int top = Math.min(MAX_TOP, vocabulary);
        graph.output(LOGITS, ElementType.FLOAT, "batch", vocabulary);
        graph.output(TOP_LOGITS, ElementType.FLOAT, "batch", top);
        graph.output(TOP_TOKENS, ElementType.INT64, "batch", top);
        graph.output(LOG_SUM, ElementType.FLOAT, "batch", 1);
        return top;
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
        int top = headOutputs(graph, vocabulary);
        graph.node(
                "",
                "TopK",
                List.of(LOGITS, graph.constant(top)),
                List.of(TOP_LOGITS, TOP_TOKENS),
                Attribute.of("axis", -1),
                Attribute.of("largest", 1),
                Attribute.of("sorted", 1));
        // ReduceLogSumExp takes 24 ms for 64 rows of 151,936 on an H200, and is one of the slowest of a step on a
        // processor; a logit less its log-softmax is the same.
        String all = graph.node("", "LogSoftmax", List.of(LOGITS), Attribute.of("axis", -1));
        String best = graph.node("", "GatherElements", List.of(all, TOP_TOKENS), Attribute.of("axis", -1));
        String sums = graph.node("", "Sub", List.of(TOP_LOGITS, best));
        graph.node(
                "", "Slice", List.of(sums, graph.constant(0), graph.constant(1), graph.constant(1)), List.of(LOG_SUM));
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

    /**
     * What a graph is made for.
     *
     * @param type number type T of dense weights, activations and cache
     * @param gpu whether token ids go in, matrices with the same input are one, and quantised matrices are dense unless
     *     they are Q4_0
     * @param own whether our own operators do the gated activation and the sampling head
     * @param ownAttention whether our own operator does attention
     * @param oneToken whether each row gets exactly one token (S = 1)
     * @param singleRow whether there is one row with one token, all matrices are dense, and all operators are our own
     */
    public record Target(
            ElementType type, boolean gpu, boolean own, boolean ownAttention, boolean oneToken, boolean singleRow) {

        /** fp32 on a processor. */
        public static Target processor() {
            return new Target(ElementType.FLOAT, false, false, false, false, false);
        }

        /** A GPU on which ONNX Runtime's operators do all; FLOAT16 or BFLOAT16. */
        public static Target gpu(ElementType type) {
            return new Target(type, true, false, false, false, false);
        }

        /** Any number of tokens of one row, with our own operators. */
        public static Target prompt(ElementType type) {
            // ONNX Runtime's attention is the faster one for many tokens, but has no fp32 on a GPU.
            return new Target(type, true, true, type == ElementType.FLOAT, false, false);
        }

        /** One token of each row, with our own operators. */
        public static Target step(ElementType type) {
            return new Target(type, true, true, true, true, false);
        }

        /** One token of one row, with our own operators. */
        public static Target single(ElementType type) {
            return new Target(type, true, true, true, true, true);
        }
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
        graph.input(factors.a(), target.type(), "adapter_rows", factors.inputs());
        graph.input(factors.b(), target.type(), "adapter_rows", factors.outputs());
        String narrow = graph.node(
                GraphBuilder.MICROSOFT, "FusedMatMul", List.of(input, factors.a()), Attribute.of("transB", 1));
        // Not a product with the mask: another adapter's infinity would become a NaN.
        String own = graph.node("", "Where", List.of(ADAPTER_MASK, narrow, "adapter_off"));
        return graph.node("", "MatMul", List.of(own, factors.b()));
    }

    private boolean multipliedAsStored(Tensor weight) {
        return switch (options.kernels()) {
            case ONNX -> false;
            case GGML -> weight.type().quantised();
            case VNNI -> weight.type().quantised() && weight.shape().getFirst() % VNNI_ROWS == 0;
        };
    }

    /** Lets one node multiply those of the matrices that are multiplied as stored: it rounds the input once for all. */
    private void shareInput(String input, int layer, List<String> parts, List<RowOrder> orders) {
        List<String> names = new ArrayList<>();
        List<StoredMatrix> group = new ArrayList<>();
        for (int i = 0; i < parts.size(); i++) {
            Tensor weight = checkpoint.tensor(layer, parts.get(i) + ".weight");
            if (multipliedAsStored(weight)) {
                names.add(weight.name());
                group.add(stored(weight, orders.get(i), checkpoint.find(layer, parts.get(i) + ".bias")));
            }
        }
        if (group.isEmpty()) {
            return;
        }
        List<String> outputs = storedProduct(input, group);
        for (int i = 0; i < names.size(); i++) {
            sharedProducts.put(names.get(i), outputs.get(i));
        }
    }

    private static StoredMatrix stored(Tensor weight, RowOrder order, @Nullable Tensor bias) {
        return new StoredMatrix(weight, order, bias == null ? null : ordered(bias, order));
    }

    private List<String> storedProduct(String input, List<StoredMatrix> group) {
        List<String> outputs =
                group.stream().map(matrix -> graph.fresh("product")).toList();
        graph.node(
                GraphBuilder.OWN,
                ProductOperator.NAME,
                List.of(input),
                outputs,
                Attribute.of(ProductOperator.PRODUCT, products.size()));
        products.add(group);
        return outputs;
    }

    /** {@code input × weightᵀ + bias} with the weight in the form that suits its type. */
    private String matrix(String input, String name, Tensor weight, RowOrder order, @Nullable Tensor bias) {
        if (target.gpu()) {
            return matrixOnGpu(input, name, new Part(weight, order, bias));
        }
        String shared = sharedProducts.get(name);
        if (shared != null) {
            return shared;
        }
        if (multipliedAsStored(weight)) {
            return storedProduct(input, List.of(stored(weight, order, bias))).getFirst();
        }
        String biasName = bias == null ? "" : biasVector(bias, order);
        boolean fine = options.fine();
        if (options.dequantise() || !weight.type().quantised() || fine && name.equals(HEAD)) {
            return denseMatrix(input, name, weight, order, biasName);
        }
        long rows = weight.shape().getFirst();
        long columns = weight.shape().getLast();
        BlockPacker.Form form = BlockPacker.Form.of(weight.type());
        long blocks = columns / form.block;
        // The operator rounds its input in blocks as long as the weight's: halves with the same scale compute the same.
        int parts = fine && form.block > FINE_BLOCK ? form.block / FINE_BLOCK : 1;
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
        String product = product(input, denseWeight(name, List.of(new Part(weight, order, null))));
        return biasName.isEmpty() ? product : graph.node("", "Add", List.of(product, biasName));
    }

    /** {@code input × weightᵀ} */
    private String product(String input, String weight) {
        return graph.node(GraphBuilder.MICROSOFT, "FusedMatMul", List.of(input, weight), Attribute.of("transB", 1));
    }

    /** Q4_0 stays packed on a GPU; all other quantised types become dense. */
    private String matrixOnGpu(String input, String name, Part part) {
        List<Part> parts = List.of(part);
        if (dense(part.weight())) {
            String product = product(input, denseWeight(name, parts));
            String bias = bias(name, parts);
            return bias.isEmpty() ? product : graph.node("", "Add", List.of(product, bias));
        }
        long rows = part.weight().shape().getFirst();
        long columns = part.weight().shape().getLast();
        long blocks = columns / BlockPacker.Form.FOUR_BITS.block;
        graph.weight(new Weight(
                List.of(
                        new Weight.Spec(name + ".quants", ElementType.UINT8, false, rows, blocks, 16),
                        new Weight.Spec(name + ".scales", target.type(), false, rows, blocks)),
                targets -> {
                    MemorySegment scales = MemorySegment.ofArray(new float[Math.toIntExact(rows * blocks)]);
                    BlockPacker.pack(part.weight(), part.order(), targets.get(0), scales, MemorySegment.NULL);
                    Numbers.write(scales.toArray(ValueLayout.JAVA_FLOAT), target.type(), targets.get(1), 0);
                }));
        String product = graph.node(
                GraphBuilder.MICROSOFT,
                "MatMulNBits",
                List.of(input, name + ".quants", name + ".scales"),
                Attribute.of("K", columns),
                Attribute.of("N", rows),
                Attribute.of("bits", 4),
                Attribute.of("block_size", 32));
        String bias = bias(name, parts);
        return bias.isEmpty() ? product : graph.node("", "Add", List.of(product, bias));
    }

    /** Whether a tensor is multiplied as a dense matrix on the target. */
    private boolean dense(Tensor weight) {
        return weight.type() != TensorType.Q4_0 || target.type() == ElementType.FLOAT;
    }

    private boolean denseOnTarget(int layer, String... parts) {
        for (String part : parts) {
            if (!dense(checkpoint.tensor(layer, part + ".weight"))) {
                return false;
            }
        }
        return true;
    }

    /** Whether a checkpoint has only matrices that are dense on a GPU with this number type. */
    public static boolean allDense(Checkpoint checkpoint, ElementType type) {
        return type == ElementType.FLOAT
                || checkpoint.tensors().stream().noneMatch(tensor -> tensor.type() == TensorType.Q4_0);
    }

    /** One product for several matrices with the same input: their results side by side. */
    private String packed(String input, int layer, String name, List<Part> parts) {
        String full = "blk." + layer + "." + name;
        String product = product(input, denseWeight(full, parts));
        String bias = bias(full, parts);
        return bias.isEmpty() ? product : graph.node("", "Add", List.of(product, bias));
    }

    private Part part(Tensor weight) {
        return new Part(weight, RowOrder.NATURAL, null);
    }

    private Part part(int layer, String part, RowOrder order) {
        return new Part(checkpoint.tensor(layer, part + ".weight"), order, checkpoint.find(layer, part + ".bias"));
    }

    /** Some rows of a matrix in the graph. */
    private record Part(
            Tensor weight, RowOrder order, @Nullable Tensor bias) {

        /** Whether its bytes can be taken as they are. */
        boolean verbatim(ElementType type) {
            return order.equals(RowOrder.NATURAL) && Numbers.same(weight.type(), type);
        }
    }

    /** A matrix of the target's type made of the parts' rows; returns {@code name}. */
    private String denseWeight(String name, List<Part> parts) {
        if (!declared.add(name)) {
            return name;
        }
        ElementType type = target.type();
        int columns = Math.toIntExact(parts.getFirst().weight().shape().getLast());
        long rows = parts.stream()
                .mapToLong(part -> part.weight().shape().getFirst())
                .sum();
        List<MemorySegment> verbatim = parts.stream().allMatch(part -> part.verbatim(type))
                ? parts.stream().map(part -> part.weight().data()).toList()
                : List.of();
        List<Weight.View> views = new ArrayList<>();
        if (parts.size() > 1) {
            long offset = 0;
            for (Part part : parts) {
                long bytes = part.weight().elements() * type.bytes();
                views.add(new Weight.View(part.weight().name(), offset, bytes));
                offset += bytes;
            }
        }
        graph.weight(new Weight(
                List.of(new Weight.Spec(name, type, true, rows, columns)),
                targets -> {
                    float[] values = new float[columns];
                    long at = 0;
                    for (Part part : parts) {
                        int count = Math.toIntExact(part.weight().shape().getFirst());
                        for (int row = 0; row < count; row++, at += (long) columns * type.bytes()) {
                            Dequantiser.row(part.weight(), part.order().storedRow(row), values, 0);
                            Numbers.write(values, type, targets.getFirst(), at);
                        }
                    }
                },
                verbatim,
                views));
        return name;
    }

    /** The parts' biases side by side, zero for those without; empty if none has one. */
    private String bias(String name, List<Part> parts) {
        if (parts.stream().allMatch(part -> part.bias() == null)) {
            return "";
        }
        int rows = Math.toIntExact(parts.stream()
                .mapToLong(part -> part.weight().shape().getFirst())
                .sum());
        float[] values = new float[rows];
        int at = 0;
        for (Part part : parts) {
            int count = Math.toIntExact(part.weight().shape().getFirst());
            float[] stored = part.bias() == null ? new float[count] : Dequantiser.all(part.bias());
            for (int row = 0; row < count; row++) {
                values[at++] = stored[part.order().storedRow(row)];
            }
        }
        return vector(name + ".bias", values, rows);
    }

    /** Sums of {@code input} over blocks of its last axis, computed once for all matrices that share the input. */
    private String blockSums(String input, int block) {
        return blockSums.computeIfAbsent(input, key -> {
            String split = graph.node("", "Reshape", List.of(input, graph.constant(0, 0, -1, block)));
            return graph.node("", "ReduceSum", List.of(split, graph.constant(-1)), Attribute.of("keepdims", 0));
        });
    }

    private String biasVector(Tensor bias, RowOrder order) {
        float[] ordered = ordered(bias, order);
        return vector(bias.name(), ordered, ordered.length);
    }

    private static float[] ordered(Tensor bias, RowOrder order) {
        float[] stored = Dequantiser.all(bias);
        float[] ordered = new float[stored.length];
        for (int i = 0; i < stored.length; i++) {
            ordered[i] = stored[order.storedRow(i)];
        }
        return ordered;
    }

    private String vector(String name, Tensor tensor) {
        float[] values = Dequantiser.all(tensor);
        return vector(name, values, values.length);
    }

    private void ropeTable(String name, boolean sine) {
        vector(name, config.rope().table(options.positions(), sine), options.positions(), config.headSize() / 2);
    }

    private String vector(String name, float[] values, long... shape) {
        if (declared.add(name)) {
            graph.weight(new Weight(
                    List.of(new Weight.Spec(name, target.type(), false, shape)),
                    targets -> Numbers.write(values, target.type(), targets.getFirst(), 0)));
        }
        return name;
    }
}
