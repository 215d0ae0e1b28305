package org.harnesslearning.llm.engine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.onnxruntime.IoBinding;
import org.bytedeco.onnxruntime.Value;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ElementType;

/**
 * The low-rank factors of all resident adapters, as inputs of the graph.
 *
 * <p>For each matrix there are two buffers, (slots · rank + 1, inputs) and (slots · rank + 1, outputs): an adapter owns
 * {@code rank} rows of each, and the last row stays zero. A step binds the rows from the first to the last adapter in use,
 * or the zero row where none is; one that is captured, whose addresses and shapes have to stay, binds those of all slots.
 * Rows that no adapter has taken are zero. On a processor memory is taken up only once rows are written.
 *
 * <p>Used by the engine thread.
 */
final class AdapterStack implements AutoCloseable {

    private final DeviceMemory memory;
    private final List<DecoderGraph.AdapterInput> inputs;
    private final int slots;
    private final int rank;
    private final int[] ranks;
    private final List<MemorySegment> downs = new ArrayList<>();
    private final List<MemorySegment> ups = new ArrayList<>();
    private final MemorySegment mask;
    private final MemorySegment hostMask;
    private final ElementType type;
    private final Map<Range, List<Value>> bound = new HashMap<>();

    /** Rows of the buffers; {@code slots · rank} is the zero row. */
    record Range(int from, int to) {

        int width() {
            return to - from;
        }
    }

    /**
     * @param inputs the graph's
     * @param slots adapters that can be resident
     * @param rank most rows of one adapter
     * @param batch most rows of one step
     * @param type number type of the factors
     */
    AdapterStack(
            List<DecoderGraph.AdapterInput> inputs,
            int slots,
            int rank,
            int batch,
            ElementType type,
            DeviceMemory memory) {
        this.memory = memory;
        this.type = type;
        this.inputs = inputs;
        this.slots = slots;
        this.rank = rank;
        this.ranks = new int[slots];
        int rows = slots * rank + 1;
        for (DecoderGraph.AdapterInput input : inputs) {
            downs.add(memory.allocate((long) type.bytes() * rows * input.inputs()));
            ups.add(memory.allocate((long) type.bytes() * rows * input.outputs()));
        }
        this.mask = memory.allocate((long) batch * rows);
        this.hostMask = memory.mirror(mask);
    }

    int slots() {
        return slots;
    }

    /** Puts an adapter into an empty slot. */
    void write(int slot, LoraAdapter adapter) {
        ranks[slot] = adapter.rank();
        for (int i = 0; i < inputs.size(); i++) {
            LoraAdapter.Pair pair = adapter.pairs().get(inputs.get(i).matrix());
            if (pair != null) {
                memory.write(rows(downs.get(i), slot, inputs.get(i).inputs(), pair.rank()), encoded(pair.a()));
                memory.write(rows(ups.get(i), slot, inputs.get(i).outputs(), pair.rank()), encoded(pair.b()));
            }
        }
    }

    /** Empties a slot. */
    void clear(int slot) {
        for (int i = 0; i < inputs.size(); i++) {
            erase(rows(downs.get(i), slot, inputs.get(i).inputs(), ranks[slot]));
            erase(rows(ups.get(i), slot, inputs.get(i).outputs(), ranks[slot]));
        }
        ranks[slot] = 0;
        close(); // views of ranges that may not come again; bindings have references of their own
    }

    private void erase(MemorySegment part) {
        memory.write(part, MemorySegment.ofArray(new byte[Math.toIntExact(part.byteSize())]));
    }

    private MemorySegment encoded(float[] values) {
        MemorySegment bytes = MemorySegment.ofArray(new byte[values.length * type.bytes()]);
        type.write(values, bytes, 0);
        return bytes;
    }

    private MemorySegment rows(MemorySegment buffer, int slot, int columns, int count) {
        long row = (long) type.bytes() * columns;
        return buffer.asSlice(slot * rank * row, count * row);
    }

    /** The rows that a step needs whose rows use these slots; a negative slot stands for no adapter. */
    Range range(int[] used) {
        int first = Integer.MAX_VALUE;
        int end = 0;
        for (int slot : used) {
            if (slot >= 0) {
                first = Math.min(first, slot * rank);
                end = Math.max(end, slot * rank + ranks[slot]);
            }
        }
        return end == 0 ? new Range(slots * rank, slots * rank + 1) : new Range(first, end);
    }

    /** All rows of adapters; the zero row is not needed where the mask leaves out the others. */
    Range all() {
        return new Range(0, slots * rank);
    }

    /** Binds the factors of a range, and the mask for so many rows of the batch, whose contents each step writes. */
    void bind(IoBinding io, Range range, int count) {
        try (Value view = memory.tensor(mask, ElementType.BOOL, count, 1, range.width())) {
            io.BindInput(DecoderGraph.ADAPTER_MASK, view);
        }
        List<Value> values = bound.computeIfAbsent(range, this::values);
        for (int i = 0; i < inputs.size(); i++) {
            io.BindInput(inputs.get(i).a(), values.get(2 * i));
            io.BindInput(inputs.get(i).b(), values.get(2 * i + 1));
        }
    }

    private List<Value> values(Range range) {
        List<Value> values = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            values.add(tensor(downs.get(i), range, inputs.get(i).inputs()));
            values.add(tensor(ups.get(i), range, inputs.get(i).outputs()));
        }
        return values;
    }

    private Value tensor(MemorySegment buffer, Range range, int columns) {
        long row = (long) type.bytes() * columns;
        return memory.tensor(buffer.asSlice(range.from() * row, range.width() * row), type, range.width(), columns);
    }

    /** Writes the mask of a step, (rows of the batch, 1, width of the range). */
    void writeMask(int[] used, Range range) {
        for (int row = 0; row < used.length; row++) {
            int first = used[row] * rank;
            for (int i = 0; i < range.width(); i++) {
                int at = range.from() + i - first;
                boolean own = used[row] >= 0 && at >= 0 && at < rank;
                hostMask.set(ValueLayout.JAVA_BYTE, (long) row * range.width() + i, (byte) (own ? 1 : 0));
            }
        }
        memory.upload(mask, hostMask, (long) used.length * range.width());
    }

    @Override
    public void close() {
        bound.values().forEach(values -> values.forEach(Value::close));
        bound.clear();
    }
}
