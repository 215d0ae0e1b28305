package org.harnesslearning.llm.engine;

import static org.harnesslearning.llm.graph.ElementType.FLOAT;
import static org.harnesslearning.llm.graph.ElementType.INT32;
import static org.harnesslearning.llm.graph.ElementType.INT64;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.cuda.CudaDevice;
import org.harnesslearning.llm.cuda.CudaModule;
import org.harnesslearning.llm.engine.CustomOperators.Call;
import org.harnesslearning.llm.engine.CustomOperators.Operator;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ElementType;

/** The operators of {@code decoder.cu}, compiled for one decoder's shape and one GPU. */
final class CudaOperators implements DecoderPlan.DecoderOperators {

    private static final int MAX_SPLITS = 32;

    /** Cells of a row that attention is tuned for, and what a block and a part cost, in cells. */
    private static final int TYPICAL_CELLS = 512;

    private static final int BLOCK_CELLS = 48;
    private static final int SPLIT_CELLS = 2;
    private static final int MAX_CHUNK = 4096;
    private static final int MIN_CHUNK = 1024;
    private static final int MAX_CHUNKS = 96; // their candidates fit in 48 KiB
    private static final int ATTENTION_THREADS = 128;
    private static final int THREADS = 256;
    private static final int ROWS_PER_BLOCK = 8;
    private static final double LOG2_E = 1 / Math.log(2);

    private final DecoderConfig config;
    private final ElementType type;
    private final CudaModule module;
    private final int attentionBlocks;
    private final boolean headNorms;
    private final float scale;
    private final int chunks;
    private final int chunk;
    private final int top;
    private final MemorySegment partials;
    private final MemorySegment arrived;
    private final MemorySegment best;
    private final MemorySegment statistics;

    /**
     * Compiles the kernels.
     *
     * @param memory the GPU's; the work space is allocated from it
     * @param type number type of the cache
     * @param headNorms whether queries and keys are normalised
     * @param batch most rows of one step
     */
    CudaOperators(CudaMemory memory, DecoderConfig config, ElementType type, boolean headNorms, int batch) {
        CudaDevice device = memory.device();
        this.config = config;
        this.type = type;
        this.headNorms = headNorms;
        this.scale = (float) (LOG2_E / Math.sqrt(config.headSize()));
        this.chunks = chunks(config.vocabulary());
        this.chunk = (config.vocabulary() + chunks - 1) / chunks;
        this.top = Math.min(DecoderGraph.MAX_TOP, config.vocabulary());
        this.module = CudaModule.compile(device, source(), options(config, type));
        this.attentionBlocks = module.resident("attend", ATTENTION_THREADS, 0);
        int group = config.heads() / config.keyValueHeads();
        long parts = 0;
        for (int rows = 1; rows <= batch; rows++) {
            int blocks = rows * config.keyValueHeads();
            parts = Math.max(parts, (long) blocks * splits(blocks));
        }
        this.partials = memory.allocate(parts * group * (config.headSize() + 2) * Float.BYTES);
        this.arrived = memory.allocate((long) batch * config.keyValueHeads() * Integer.BYTES);
        this.best = memory.allocate((long) batch * chunks * DecoderGraph.MAX_TOP * Long.BYTES);
        this.statistics = memory.allocate((long) batch * chunks * 2 * Float.BYTES);
    }

    /** Whether the kernels can be made for a decoder's shape. */
    static boolean support(DecoderConfig config) {
        int head = config.headSize();
        return Integer.bitCount(head) == 1
                && head >= 8
                && head <= 256
                && config.heads() / config.keyValueHeads() * head <= 2048
                && config.hidden() % 8 == 0
                && config.feedForward() % 8 == 0
                && chunks(config.vocabulary()) <= MAX_CHUNKS;
    }

    private static int chunks(int vocabulary) {
        return Math.max(
                Math.min(64, (vocabulary + MIN_CHUNK - 1) / MIN_CHUNK), (vocabulary + MAX_CHUNK - 1) / MAX_CHUNK);
    }

    /** Source of the kernels. */
    static String source() {
        try (InputStream in = CudaOperators.class.getResourceAsStream("decoder.cu")) {
            if (in == null) {
                throw new IllegalStateException("decoder.cu is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Compiler options that make the kernels those of a decoder. */
    static List<String> options(DecoderConfig config, ElementType type) {
        int kind = switch (type) {
            case FLOAT -> 0;
            case FLOAT16 -> 1;
            case BFLOAT16 -> 2;
            case UINT8, INT32, INT64, BOOL -> throw new IllegalArgumentException(type + " is no floating-point type");
        };
        return List.of(
                "-DTYPE=" + kind,
                "-DHEADS=" + config.heads(),
                "-DKV_HEADS=" + config.keyValueHeads(),
                "-DHEAD=" + config.headSize(),
                "-DTOP=" + DecoderGraph.MAX_TOP,
                "-DEPSILON=" + config.normEpsilon() + "f");
    }

    @Override
    public String provider() {
        return "CUDAExecutionProvider";
    }

    @Override
    public List<Operator> operators() {
        List<ElementType> attention = headNorms
                ? List.of(type, type, type, type, type, INT32, type, type, type, type)
                : List.of(type, type, type, type, type, INT32, type, type);
        return List.of(
                new Operator("CachedAttention", attention, Set.of(1, 2), List.of(type), this::attention),
                new Operator("SwiGlu", List.of(type), Set.of(), List.of(type), this::swiGlu),
                new Operator(
                        "MatVec", List.of(type, type, type, type, type), Set.of(1, 3, 4), List.of(type), this::matVec),
                new Operator("MatVecSwiGlu", List.of(type, type, type), Set.of(), List.of(type), this::matVecSwiGlu),
                new Operator(
                        "SamplingHead",
                        List.of(type, FLOAT, FLOAT, INT64, FLOAT),
                        Set.of(),
                        List.of(FLOAT, FLOAT, INT64, FLOAT),
                        this::samplingHead));
    }

    private void attention(Call call) {
        long[] shape = call.shape(0);
        int rows = (int) shape[0];
        int tokens = (int) shape[1];
        int capacity = (int) call.shape(3)[2];
        int heads = config.keyValueHeads();
        MemorySegment output = call.output(0, rows, tokens, config.queryWidth());
        MemorySegment query = call.input(0);
        MemorySegment key = call.input(1);
        MemorySegment value = call.input(2);
        int queryStride = config.queryWidth();
        int stride = config.keyValueWidth();
        if (key.address() == 0) { // all three side by side
            key = MemorySegment.ofAddress(query.address() + (long) type.bytes() * config.queryWidth());
            value = MemorySegment.ofAddress(key.address() + (long) type.bytes() * config.keyValueWidth());
            queryStride += 2 * config.keyValueWidth();
            stride = queryStride;
        }
        MemorySegment queryNorm = headNorms ? call.input(8) : MemorySegment.NULL;
        MemorySegment keyNorm = headNorms ? call.input(9) : MemorySegment.NULL;
        if (tokens > 1) {
            module.launch(
                    call.stream(),
                    "append",
                    new int[] {heads, rows * tokens, 1},
                    32,
                    0,
                    key,
                    value,
                    stride,
                    call.input(3),
                    call.input(4),
                    call.input(5),
                    call.input(6),
                    call.input(7),
                    keyNorm,
                    tokens,
                    capacity);
        }
        int splits = tokens > 1 ? 1 : splits(rows * heads);
        module.launch(
                call.stream(),
                "attend",
                new int[] {splits, heads, rows * tokens},
                ATTENTION_THREADS,
                0,
                output,
                query,
                key,
                value,
                queryStride,
                stride,
                call.input(3),
                call.input(4),
                call.input(5),
                call.input(6),
                call.input(7),
                queryNorm,
                keyNorm,
                partials,
                arrived,
                tokens,
                capacity,
                scale);
    }

    /** The number of parts of a row's cells with the least time, for rows of {@link #TYPICAL_CELLS}. */
    private int splits(int blocks) {
        int best = 1;
        int least = Integer.MAX_VALUE;
        for (int splits = 1; splits <= MAX_SPLITS; splits++) {
            int waves = (blocks * splits + attentionBlocks - 1) / attentionBlocks;
            int time = waves * (TYPICAL_CELLS / splits + BLOCK_CELLS) + (splits > 1 ? SPLIT_CELLS * splits : 0);
            if (time < least) {
                least = time;
                best = splits;
            }
        }
        return best;
    }

    private void swiGlu(Call call) {
        long[] shape = call.shape(0);
        int width = (int) shape[2] / 2;
        int rows = (int) (shape[0] * shape[1]);
        module.launch(
                call.stream(),
                "swiGlu",
                new int[] {(width + 8 * THREADS - 1) / (8 * THREADS), rows, 1},
                THREADS,
                0,
                call.output(0, shape[0], shape[1], width),
                call.input(0),
                width);
    }

    private void matVec(Call call) {
        long[] shape = call.shape(2);
        int rows = (int) shape[0];
        int columns = (int) shape[1];
        module.launch(
                call.stream(),
                "matVec",
                new int[] {blocks("matVec", rows, columns), 1, 1},
                THREADS,
                staged(columns),
                call.output(0, 1, 1, rows),
                call.input(0),
                call.input(1),
                call.input(2),
                call.input(3),
                call.input(4),
                rows,
                columns);
    }

    private void matVecSwiGlu(Call call) {
        long[] shape = call.shape(2);
        int rows = (int) shape[0] / 2;
        int columns = (int) shape[1];
        module.launch(
                call.stream(),
                "matVecSwiGlu",
                new int[] {blocks("matVecSwiGlu", rows, columns), 1, 1},
                THREADS,
                staged(columns),
                call.output(0, 1, 1, rows),
                call.input(0),
                call.input(1),
                call.input(2),
                rows,
                columns);
    }

    /** Blocks that are all resident and go through equally many rows. */
    private int blocks(String kernel, int rows, int columns) {
        int groups = (rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
        int resident = module.resident(kernel, THREADS, staged(columns));
        int rounds = (groups + resident - 1) / resident;
        return (groups + rounds - 1) / rounds;
    }

    /** Bytes of the vector in shared memory. */
    private static int staged(int columns) {
        return (columns + 255) / 256 * 256 * Float.BYTES;
    }

    private void samplingHead(Call call) {
        int rows = (int) call.shape(0)[0];
        int penalised = (int) call.shape(3)[1];
        int vocabulary = config.vocabulary();
        MemorySegment raw = call.input(0);
        MemorySegment logits = call.output(0, rows, vocabulary);
        MemorySegment source = raw;
        if (penalised > 1) {
            int[] grid = {chunks, rows, 1};
            module.launch(call.stream(), "temper", grid, THREADS, 0, logits, raw, call.input(1), vocabulary);
            module.launch(
                    call.stream(),
                    "penalise",
                    grid,
                    THREADS,
                    0,
                    logits,
                    raw,
                    call.input(1),
                    call.input(2),
                    call.input(3),
                    call.input(4),
                    penalised,
                    vocabulary);
            source = MemorySegment.NULL;
        }
        module.launch(
                call.stream(),
                "candidates",
                new int[] {chunks, rows, 1},
                THREADS,
                chunk * Long.BYTES,
                logits,
                source,
                call.input(1),
                best,
                statistics,
                vocabulary,
                chunk);
        module.launch(
                call.stream(),
                "winners",
                new int[] {rows, 1, 1},
                THREADS,
                chunks * DecoderGraph.MAX_TOP * Long.BYTES,
                call.output(1, rows, top),
                call.output(2, rows, top),
                call.output(3, rows, 1),
                best,
                statistics,
                chunks,
                top);
    }

    @Override
    public void close() {
        // the module belongs to the context, the work space to the device's memory
    }
}
