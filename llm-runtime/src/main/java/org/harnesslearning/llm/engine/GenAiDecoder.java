package org.harnesslearning.llm.engine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.bytedeco.onnxruntime.IoBinding;
import org.bytedeco.onnxruntime.RunOptions;
import org.bytedeco.onnxruntime.Session;
import org.bytedeco.onnxruntime.Value;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.GenAiFolder;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.sampling.Candidates;

/**
 * The decoder of an ONNX Runtime GenAI folder: its own graph with keys and values in our rows, then our sampling head as
 * a second small graph over the last token's logits.
 *
 * <p>The attention mask is all that tells its attention how long each row is: as many ones as the row has tokens.
 */
final class GenAiDecoder implements Decoder {

    private static final int PROBE_TOKENS = 8;
    private static final float PROBE_TOLERANCE = 0.02f;

    private final GenAiFolder folder;
    private final int rows;
    private final int batch;
    private final int maxSequence;
    private final int vocabulary;
    private final int top;
    private final long headBytes;
    private final long rowBytes;
    private final Deque<Runnable> owned = new ArrayDeque<>(); // freed from the latest on
    private final HostMemory memory = new HostMemory();
    private final RunOptions runOptions = new RunOptions();
    private final Session session;
    private final Session head;
    private final List<MemorySegment> caches = new ArrayList<>();
    private final MemorySegment inverseTemperature;
    private final MemorySegment penalty;
    private final MemorySegment logits;
    private final MemorySegment topLogits;
    private final MemorySegment topTokens;
    private final MemorySegment logSum;
    private MemorySegment ids;
    private MemorySegment positions;
    private MemorySegment mask;
    private MemorySegment rawLogits;
    private MemorySegment penalised;
    private MemorySegment penaltyOffsets;

    /**
     * Loads the graph.
     *
     * @param rows rows of the cache
     * @param batch most rows of one step
     */
    GenAiDecoder(GenAiFolder folder, int rows, int batch, int maxSequence, int threads) {
        this.folder = folder;
        this.rows = rows;
        this.batch = batch;
        this.maxSequence = maxSequence;
        this.vocabulary = folder.vocabulary();
        this.headBytes = (long) maxSequence * folder.headSize() * Float.BYTES;
        this.rowBytes = headBytes * folder.keyValueHeads();
        owned.push(memory::close);
        owned.push(runOptions::close);
        try {
            session = OnnxRuntime.session(folder.graphFile(), threads);
            owned.push(session::close);
            DecoderGraph.Built headGraph = DecoderGraph.headOnly(vocabulary);
            top = headGraph.top();
            head = OnnxRuntime.session(
                    headGraph.model(), OnnxRuntime.place(headGraph.weights(), memory, 1), memory, threads);
            owned.push(head::close);
            for (int i = 0; i < 2 * folder.layers(); i++) {
                caches.add(memory.allocate(rowBytes * rows));
            }
            inverseTemperature = memory.allocate(4L * batch);
            penalty = memory.allocate(4L * batch);
            logits = memory.allocate(4L * batch * vocabulary);
            topLogits = memory.allocate(4L * batch * top);
            topTokens = memory.allocate(8L * batch * top);
            logSum = memory.allocate(4L * batch);
            ids = memory.allocate(8L * batch);
            positions = memory.allocate(8L * batch);
            mask = memory.allocate(8L * batch * maxSequence);
            rawLogits = memory.allocate(4L * batch * vocabulary);
            penalised = memory.allocate(8L * batch);
            penaltyOffsets = memory.allocate(4L * batch);
            probe();
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /** Tries out that tokens appended one by one, and in a row that is not the first, get what a whole prompt gets. */
    private void probe() {
        int count = Math.min(maxSequence, PROBE_TOKENS);
        int[] tokens = new int[count];
        for (int i = 0; i < count; i++) {
            tokens[i] = (7 * i + 3) % vocabulary;
        }
        float[] whole = extend(rows - 1, 0, tokens, Shaping.PLAIN).allLogits().get();
        int half = count / 2;
        Candidates last = extend(0, 0, Arrays.copyOf(tokens, half), Shaping.PLAIN);
        for (int i = half; i < count; i++) {
            last = step(new int[] {i}, new int[] {tokens[i]}, List.of(Shaping.PLAIN))
                    .getFirst();
        }
        float[] stepped = last.allLogits().get();
        float largest = 0;
        float difference = 0;
        for (int i = 0; i < vocabulary; i++) {
            largest = Math.max(largest, Math.abs(whole[i]));
            difference = Math.max(difference, Math.abs(whole[i] - stepped[i]));
        }
        if (!(difference <= PROBE_TOLERANCE * Math.max(1, largest))) {
            throw new CheckpointException(
                    folder.graphFile(), "its attention does not append to a cache of fixed size: it cannot be used");
        }
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
        for (int past : pasts) {
            total = Math.max(total, past + length);
        }
        if (total > maxSequence || firstRow + count > rows || count > batch) {
            throw new IllegalArgumentException("step outside the cache");
        }
        ids = atLeast(ids, 8L * tokens.length);
        positions = atLeast(positions, 8L * tokens.length);
        for (int i = 0; i < tokens.length; i++) {
            ids.setAtIndex(ValueLayout.JAVA_LONG, i, tokens[i]);
            positions.setAtIndex(ValueLayout.JAVA_LONG, i, pasts[i / length] + i % length);
        }
        for (int row = 0; row < count; row++) {
            for (int i = 0; i < total; i++) {
                mask.setAtIndex(ValueLayout.JAVA_LONG, (long) row * total + i, i < pasts[row] + length ? 1 : 0);
            }
        }
        int outputs = folder.lastLogitsOnly() ? 1 : length;
        rawLogits = atLeast(rawLogits, 4L * count * outputs * vocabulary);
        try (Bound bound = new Bound(session)) {
            bound.input(folder.inputIds(), ids, ElementType.INT64, count, length);
            bound.input(folder.attentionMask(), mask, ElementType.INT64, count, total);
            String positionIds = folder.positionIds();
            if (positionIds != null) {
                bound.input(positionIds, positions, ElementType.INT64, count, length);
            }
            for (int layer = 0; layer < folder.layers(); layer++) {
                List<String> names = folder.cacheNames(layer);
                for (int part = 0; part < 2; part++) {
                    MemorySegment cache = caches.get(2 * layer + part).asSlice(firstRow * rowBytes, count * rowBytes);
                    long[] shape = {count, folder.keyValueHeads(), maxSequence, folder.headSize()};
                    bound.input(names.get(part), cache, ElementType.FLOAT, shape);
                    bound.output(names.get(part + 2), cache, ElementType.FLOAT, shape);
                }
            }
            bound.output(folder.logits(), rawLogits, ElementType.FLOAT, count, outputs, vocabulary);
            session.Run(runOptions, bound.io);
        }
        // Either one token a row, or one row.
        MemorySegment last = rawLogits.asSlice(4L * (outputs - 1) * vocabulary, 4L * count * vocabulary);
        return candidates(last, shapings);
    }

    private List<Candidates> candidates(MemorySegment raw, List<Shaping> shapings) {
        int count = shapings.size();
        int widest = writeShapings(shapings);
        try (Bound bound = new Bound(head)) {
            bound.input(DecoderGraph.RAW_LOGITS, raw, ElementType.FLOAT, count, vocabulary);
            bound.input(DecoderGraph.INVERSE_TEMPERATURE, inverseTemperature, ElementType.FLOAT, count, 1);
            bound.input(DecoderGraph.PENALTY, penalty, ElementType.FLOAT, count, 1);
            bound.input(DecoderGraph.PENALISED, penalised, ElementType.INT64, count, widest);
            bound.input(DecoderGraph.PENALTY_OFFSETS, penaltyOffsets, ElementType.FLOAT, count, widest);
            bound.output(DecoderGraph.LOGITS, logits, ElementType.FLOAT, count, vocabulary);
            bound.output(DecoderGraph.TOP_LOGITS, topLogits, ElementType.FLOAT, count, top);
            bound.output(DecoderGraph.TOP_TOKENS, topTokens, ElementType.INT64, count, top);
            bound.output(DecoderGraph.LOG_SUM, logSum, ElementType.FLOAT, count, 1);
            head.Run(runOptions, bound.io);
        }
        List<Candidates> candidates = new ArrayList<>(count);
        for (int row = 0; row < count; row++) {
            float[] values = topLogits.asSlice(4L * row * top, 4L * top).toArray(ValueLayout.JAVA_FLOAT);
            int[] tokens = new int[top];
            for (int i = 0; i < top; i++) {
                tokens[i] = (int) topTokens.getAtIndex(ValueLayout.JAVA_LONG, (long) row * top + i);
            }
            MemorySegment all = logits.asSlice(4L * row * vocabulary, 4L * vocabulary);
            candidates.add(new Candidates(
                    values,
                    tokens,
                    logSum.getAtIndex(ValueLayout.JAVA_FLOAT, row),
                    () -> all.toArray(ValueLayout.JAVA_FLOAT)));
        }
        return candidates;
    }

    /** Writes the head's inputs; penalised tokens are padded with a repeated one, which does no harm. */
    private int writeShapings(List<Shaping> shapings) {
        int most = shapings.stream().mapToInt(s -> s.penalised().length).max().orElse(0);
        int widest = Math.max(1, most);
        penalised = atLeast(penalised, 8L * widest * batch);
        penaltyOffsets = atLeast(penaltyOffsets, 4L * widest * batch);
        for (int row = 0; row < shapings.size(); row++) {
            Shaping shaping = shapings.get(row);
            inverseTemperature.setAtIndex(ValueLayout.JAVA_FLOAT, row, shaping.inverseTemperature());
            penalty.setAtIndex(ValueLayout.JAVA_FLOAT, row, shaping.penalty());
            for (int i = 0; i < widest; i++) {
                int from = Math.min(i, shaping.penalised().length - 1);
                long to = (long) row * widest + i;
                penalised.setAtIndex(ValueLayout.JAVA_LONG, to, from < 0 ? 0 : shaping.penalised()[from]);
                penaltyOffsets.setAtIndex(ValueLayout.JAVA_FLOAT, to, from < 0 ? 0 : shaping.offsets()[from]);
            }
        }
        return widest;
    }

    private MemorySegment atLeast(MemorySegment buffer, long bytes) {
        return buffer.byteSize() >= bytes ? buffer : memory.allocate(2 * bytes);
    }

    @Override
    public void checkAdapter(LoraAdapter adapter) {
        throw new CheckpointException(folder.path(), "takes no adapters: its graph has no place for them");
    }

    @Override
    public void writeAdapter(int slot, LoraAdapter adapter) {
        throw new IllegalStateException("the graph takes no adapters");
    }

    @Override
    public void clearAdapter(int slot) {
        throw new IllegalStateException("the graph takes no adapters");
    }

    @Override
    public void copy(int from, int to, int cells) {
        long bytes = cellBytes(cells);
        for (MemorySegment cache : caches) {
            for (int i = 0; i < folder.keyValueHeads(); i++) {
                MemorySegment.copy(cache, at(from, i), cache, at(to, i), bytes);
            }
        }
    }

    @Override
    public void swap(int first, int firstCells, int second, int secondCells) {
        MemorySegment kept = MemorySegment.ofArray(new byte[Math.toIntExact(cellBytes(firstCells))]);
        for (MemorySegment cache : caches) {
            for (int i = 0; i < folder.keyValueHeads(); i++) {
                MemorySegment.copy(cache, at(first, i), kept, 0, cellBytes(firstCells));
                MemorySegment.copy(cache, at(second, i), cache, at(first, i), cellBytes(secondCells));
                MemorySegment.copy(kept, 0, cache, at(second, i), cellBytes(firstCells));
            }
        }
    }

    private long at(int row, int keyValueHead) {
        return row * rowBytes + keyValueHead * headBytes;
    }

    private long cellBytes(int cells) {
        return (long) cells * folder.headSize() * Float.BYTES;
    }

    @Override
    public void close() {
        while (!owned.isEmpty()) {
            owned.pop().run();
        }
    }

    /** The inputs and outputs of one run. */
    private final class Bound implements AutoCloseable {

        private final IoBinding io;
        private final List<Value> values = new ArrayList<>();

        Bound(Session of) {
            io = new IoBinding(of);
        }

        void input(String name, MemorySegment segment, ElementType type, long... shape) {
            io.BindInput(name, value(segment, type, shape));
        }

        void output(String name, MemorySegment segment, ElementType type, long... shape) {
            io.BindOutput(name, value(segment, type, shape));
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
