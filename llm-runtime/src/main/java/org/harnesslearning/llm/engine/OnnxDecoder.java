package org.harnesslearning.llm.engine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.onnxruntime.IoBinding;
import org.bytedeco.onnxruntime.RunOptions;
import org.bytedeco.onnxruntime.Session;
import org.bytedeco.onnxruntime.Value;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.checkpoint.Dequantiser;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.sampling.Candidates;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A decoder on ONNX Runtime.
 *
 * <p>Keys and values of a layer lie in two buffers (rows, kv heads, max sequence, head), allocated once; each step binds
 * a range of rows as past <em>and</em> present, so that attention appends in place. Embeddings are looked up here, in
 * the mapped checkpoint, so that their table costs no memory of its own.
 */
final class OnnxDecoder implements Decoder {

    private static final Logger LOG = LoggerFactory.getLogger(OnnxDecoder.class);
    private static final int PROBE_TOKENS = 16;

    private final Checkpoint checkpoint;
    private final DecoderConfig config;
    private final int rows;
    private final int batch;
    private final int maxSequence;
    private final int top;
    private final long headBytes;
    private final long rowBytes;
    private final DeviceMemory memory = new DeviceMemory();
    private final Deque<Native> owned = new ArrayDeque<>(); // what lies on top of something else is nearer the head
    private final Session session;
    private final RunOptions runOptions = new RunOptions();
    private final List<MemorySegment> caches = new ArrayList<>();
    private final Map<Long, Binding> bindings = new HashMap<>();
    private final float[] embedding;
    private final MemorySegment lastPositions;
    private final MemorySegment totalLength;
    private final MemorySegment inverseTemperature;
    private final MemorySegment penalty;
    private final MemorySegment logits;
    private final MemorySegment topLogits;
    private final MemorySegment topTokens;
    private final MemorySegment logSum;
    private final @Nullable AdapterStack adapterStack;
    private MemorySegment embeddings;
    private MemorySegment penalised;
    private MemorySegment penaltyOffsets;

    /**
     * Takes over the checkpoint, which stays mapped until {@link #close()}; where this fails, it stays the caller's, and
     * nothing is left in native memory.
     *
     * @param rows rows of the cache
     * @param batch most rows of one step
     */
    OnnxDecoder(Checkpoint checkpoint, int rows, int batch, int maxSequence, int threads, boolean dequantise) {
        this(
                checkpoint,
                rows,
                batch,
                maxSequence,
                threads,
                DecoderGraph.build(checkpoint, DecoderGraph.Options.of(checkpoint, maxSequence, dequantise)));
    }

    /** The same with a graph made for {@code maxSequence} positions of the checkpoint. */
    OnnxDecoder(Checkpoint checkpoint, int rows, int batch, int maxSequence, int threads, DecoderGraph.Built graph) {
        this(checkpoint, rows, batch, maxSequence, threads, graph, 1, 1);
    }

    /**
     * The same for a graph that may take adapters.
     *
     * @param adapters most resident adapters
     * @param adapterRank most rank of one
     */
    OnnxDecoder(
            Checkpoint checkpoint,
            int rows,
            int batch,
            int maxSequence,
            int threads,
            DecoderGraph.Built graph,
            int adapters,
            int adapterRank) {
        this.checkpoint = checkpoint;
        this.config = checkpoint.config();
        this.rows = rows;
        this.batch = batch;
        this.maxSequence = maxSequence;
        this.headBytes = (long) maxSequence * config.headSize() * Float.BYTES;
        this.rowBytes = headBytes * config.keyValueHeads();
        this.embedding = new float[config.hidden()];
        this.top = graph.top();
        owned.push(memory::close);
        owned.push(runOptions::close);
        try {
            long start = System.nanoTime();
            List<OnnxRuntime.Placed> weights = OnnxRuntime.place(graph.weights(), memory, threads);
            // The file's pages have been read; those that are wanted again (embeddings) come back from the page cache.
            checkpoint.tensors().forEach(tensor -> DeviceMemory.discard(tensor.data()));
            long placed = System.nanoTime();
            this.session = OnnxRuntime.session(graph.model(), weights, memory, threads);
            owned.push(session::close);
            LOG.info(
                    "weights rearranged in {} ms, session made in {} ms",
                    (placed - start) / 1_000_000,
                    (System.nanoTime() - placed) / 1_000_000);
            for (int i = 0; i < 2 * config.layers(); i++) {
                caches.add(memory.allocate(rowBytes * rows));
            }
            lastPositions = memory.allocate(4L * batch);
            totalLength = memory.allocate(4);
            inverseTemperature = memory.allocate(4L * batch);
            penalty = memory.allocate(4L * batch);
            logits = memory.allocate(4L * batch * config.vocabulary());
            topLogits = memory.allocate(4L * batch * top);
            topTokens = memory.allocate(8L * batch * top);
            logSum = memory.allocate(4L * batch);
            embeddings = memory.allocate(4L * batch * config.hidden());
            penalised = memory.allocate(8L * batch);
            penaltyOffsets = memory.allocate(4L * batch);
            if (graph.adapters().isEmpty()) {
                adapterStack = null;
            } else {
                AdapterStack stack = new AdapterStack(graph.adapters(), adapters, adapterRank, batch, memory);
                owned.push(stack::close);
                adapterStack = stack;
            }
            discardPacked(weights);
        } catch (RuntimeException | Error e) {
            release();
            throw e;
        }
    }

    /**
     * Gives back the memory of weights that the kernels have copied. That they really do not read it again is tried
     * out, with the paths for many tokens and for one; where they do, the weights are put back.
     */
    private void discardPacked(List<OnnxRuntime.Placed> weights) {
        List<float[]> before = probe();
        for (OnnxRuntime.Placed placed : weights) {
            for (int i = 0; i < placed.targets().size(); i++) {
                if (placed.weight().specs().get(i).packed()) {
                    DeviceMemory.discard(placed.targets().get(i));
                }
            }
        }
        List<float[]> after = probe();
        for (int i = 0; i < before.size(); i++) {
            if (!Arrays.equals(before.get(i), after.get(i))) {
                LOG.warn("this processor's kernels read the weights in place: they stay in memory twice");
                weights.forEach(OnnxRuntime.Placed::fill);
                return;
            }
        }
    }

    private List<float[]> probe() {
        int count = Math.min(maxSequence - 1, PROBE_TOKENS);
        int[] tokens = new int[count];
        for (int i = 0; i < count; i++) {
            tokens[i] = i % config.vocabulary();
        }
        float[] many = extend(0, 0, tokens, Shaping.PLAIN).allLogits().get();
        float[] one = extend(0, count, new int[] {0}, Shaping.PLAIN).allLogits().get();
        return List.of(many, one);
    }

    @Override
    public int rows() {
        return rows;
    }

    @Override
    public int maxSequence() {
        return maxSequence;
    }

    @Override
    public Candidates extend(int row, int past, int[] tokens, Shaping shaping) {
        return run(row, new int[] {past}, tokens, List.of(shaping)).getFirst();
    }

    @Override
    public List<Candidates> step(int[] pasts, int[] tokens, List<Shaping> shapings) {
        return run(0, pasts, tokens, shapings);
    }

    private List<Candidates> run(int firstRow, int[] pasts, int[] tokens, List<Shaping> shapings) {
        int count = pasts.length;
        int length = tokens.length / count;
        int total = 0;
        for (int i = 0; i < count; i++) {
            int end = pasts[i] + length;
            total = Math.max(total, end);
            lastPositions.setAtIndex(ValueLayout.JAVA_INT, i, end - 1);
            inverseTemperature.setAtIndex(
                    ValueLayout.JAVA_FLOAT, i, shapings.get(i).inverseTemperature());
            penalty.setAtIndex(ValueLayout.JAVA_FLOAT, i, shapings.get(i).penalty());
        }
        if (total > maxSequence || firstRow + count > rows || count > batch) {
            throw new IllegalArgumentException("step outside the cache");
        }
        totalLength.set(ValueLayout.JAVA_INT, 0, total);
        embed(tokens);
        int widest = writePenalised(shapings);
        Binding binding = bindings.computeIfAbsent((long) firstRow << 32 | count, key -> new Binding(firstRow, count));
        try (Value hidden = memory.tensor(embeddings, ElementType.FLOAT, count, length, config.hidden());
                Value seen = memory.tensor(penalised, ElementType.INT64, count, widest);
                Value offsets = memory.tensor(penaltyOffsets, ElementType.FLOAT, count, widest)) {
            binding.io.BindInput(DecoderGraph.EMBEDDINGS, hidden);
            binding.io.BindInput(DecoderGraph.PENALISED, seen);
            binding.io.BindInput(DecoderGraph.PENALTY_OFFSETS, offsets);
            binding.bindAdapters(shapings);
            session.Run(runOptions, binding.io);
        }
        List<Candidates> candidates = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            candidates.add(candidates(i));
        }
        return candidates;
    }

    private void embed(int[] tokens) {
        long bytes = 4L * tokens.length * config.hidden();
        if (embeddings.byteSize() < bytes) {
            embeddings = memory.allocate(bytes);
        }
        Tensor table = checkpoint.embedding();
        for (int i = 0; i < tokens.length; i++) {
            Dequantiser.row(table, tokens[i], embedding, 0);
            MemorySegment.copy(
                    embedding, 0, embeddings, ValueLayout.JAVA_FLOAT, 4L * i * config.hidden(), config.hidden());
        }
    }

    /** Writes (rows, widest), padded with a repeated token: writing the same value twice does no harm. */
    private int writePenalised(List<Shaping> shapings) {
        int most = shapings.stream().mapToInt(s -> s.penalised().length).max().orElse(0);
        int widest = Math.max(1, most);
        if (penalised.byteSize() < 8L * widest * batch) {
            penalised = memory.allocate(16L * widest * batch);
            penaltyOffsets = memory.allocate(8L * widest * batch);
        }
        for (int row = 0; row < shapings.size(); row++) {
            int[] tokens = shapings.get(row).penalised();
            float[] offsets = shapings.get(row).offsets();
            for (int i = 0; i < widest; i++) {
                int from = Math.min(i, tokens.length - 1);
                long to = (long) row * widest + i;
                penalised.setAtIndex(ValueLayout.JAVA_LONG, to, from < 0 ? 0 : tokens[from]);
                penaltyOffsets.setAtIndex(ValueLayout.JAVA_FLOAT, to, from < 0 ? 0 : offsets[from]);
            }
        }
        return widest;
    }

    private Candidates candidates(int row) {
        float[] values = new float[top];
        int[] tokens = new int[top];
        for (int i = 0; i < top; i++) {
            values[i] = topLogits.getAtIndex(ValueLayout.JAVA_FLOAT, (long) row * top + i);
            tokens[i] = (int) topTokens.getAtIndex(ValueLayout.JAVA_LONG, (long) row * top + i);
        }
        long rowLogits = 4L * config.vocabulary();
        return new Candidates(
                values,
                tokens,
                logSum.getAtIndex(ValueLayout.JAVA_FLOAT, row),
                () -> logits.asSlice(row * rowLogits, rowLogits).toArray(ValueLayout.JAVA_FLOAT));
    }

    @Override
    public void checkAdapter(LoraAdapter adapter) {
        adapter.checkShapes(config);
    }

    @Override
    public void writeAdapter(int slot, LoraAdapter adapter) {
        adapterStack().write(slot, adapter);
    }

    @Override
    public void clearAdapter(int slot) {
        adapterStack().clear(slot);
    }

    private AdapterStack adapterStack() {
        if (adapterStack == null) {
            throw new IllegalStateException("the graph takes no adapters");
        }
        return adapterStack;
    }

    @Override
    public void copy(int from, int to, int cells) {
        forEachHead(
                from,
                to,
                (cache, source, target) -> MemorySegment.copy(cache, source, cache, target, cellBytes(cells)));
    }

    @Override
    public void swap(int first, int firstCells, int second, int secondCells) {
        long bytes = cellBytes(Math.max(firstCells, secondCells));
        MemorySegment kept = MemorySegment.ofArray(new byte[Math.toIntExact(bytes)]);
        forEachHead(first, second, (cache, a, b) -> {
            MemorySegment.copy(cache, a, kept, 0, cellBytes(firstCells));
            MemorySegment.copy(cache, b, cache, a, cellBytes(secondCells));
            MemorySegment.copy(kept, 0, cache, b, cellBytes(firstCells));
        });
    }

    private long cellBytes(int cells) {
        return (long) cells * config.headSize() * Float.BYTES;
    }

    private void forEachHead(int first, int second, HeadAction action) {
        for (MemorySegment cache : caches) {
            for (int head = 0; head < config.keyValueHeads(); head++) {
                action.apply(cache, first * rowBytes + head * headBytes, second * rowBytes + head * headBytes);
            }
        }
    }

    /** Something in native memory. */
    private interface Native {
        void close();
    }

    @FunctionalInterface
    private interface HeadAction {
        void apply(MemorySegment cache, long first, long second);
    }

    @Override
    public void close() {
        release();
        checkpoint.close();
    }

    /** Frees all native memory, whatever of it there is yet. */
    private void release() {
        bindings.values().forEach(Binding::close);
        bindings.clear();
        while (!owned.isEmpty()) {
            owned.pop().close();
        }
    }

    /** The bound inputs and outputs of a range of rows; only embeddings, penalties and adapters change with the step. */
    private final class Binding implements AutoCloseable {

        private final IoBinding io = new IoBinding(session);
        private final List<Value> values = new ArrayList<>();
        private AdapterStack.@Nullable Range adapterRows;

        Binding(int firstRow, int count) {
            for (int layer = 0; layer < config.layers(); layer++) {
                List<String> names = DecoderGraph.cacheNames(layer);
                for (int part = 0; part < 2; part++) {
                    MemorySegment cache = caches.get(2 * layer + part).asSlice(firstRow * rowBytes, count * rowBytes);
                    Value value = value(
                            cache, ElementType.FLOAT, count, config.keyValueHeads(), maxSequence, config.headSize());
                    io.BindInput(names.get(part), value);
                    io.BindOutput(names.get(part + 2), value);
                }
            }
            io.BindInput(DecoderGraph.LAST_POSITIONS, value(lastPositions, ElementType.INT32, count));
            io.BindInput(DecoderGraph.TOTAL_LENGTH, value(totalLength, ElementType.INT32));
            io.BindInput(DecoderGraph.INVERSE_TEMPERATURE, value(inverseTemperature, ElementType.FLOAT, count, 1));
            io.BindInput(DecoderGraph.PENALTY, value(penalty, ElementType.FLOAT, count, 1));
            io.BindOutput(DecoderGraph.LOGITS, value(logits, ElementType.FLOAT, count, config.vocabulary()));
            io.BindOutput(DecoderGraph.TOP_LOGITS, value(topLogits, ElementType.FLOAT, count, top));
            io.BindOutput(DecoderGraph.TOP_TOKENS, value(topTokens, ElementType.INT64, count, top));
            io.BindOutput(DecoderGraph.LOG_SUM, value(logSum, ElementType.FLOAT, count, 1));
        }

        /** Binds the adapters that the rows use, and which of them each row sees. */
        void bindAdapters(List<Shaping> shapings) {
            AdapterStack stack = adapterStack;
            if (stack == null) {
                return;
            }
            int[] used = shapings.stream().mapToInt(Shaping::adapter).toArray();
            AdapterStack.Range range = stack.range(used);
            if (!range.equals(adapterRows)) {
                stack.bind(io, range);
                adapterRows = range;
            }
            try (Value mask = stack.mask(used, range)) {
                io.BindInput(DecoderGraph.ADAPTER_MASK, mask);
            }
        }

        private Value value(MemorySegment segment, ElementType type, long... shape) {
            Value value = memory.tensor(segment, type, shape);
            values.add(value);
            return value;
        }

        @Override
        public void close() {
            io.close();
            values.forEach(Value::close);
        }
    }
}
