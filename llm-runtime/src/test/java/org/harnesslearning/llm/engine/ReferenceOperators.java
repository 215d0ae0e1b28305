package org.harnesslearning.llm.engine;

import static org.harnesslearning.llm.graph.ElementType.FLOAT;
import static org.harnesslearning.llm.graph.ElementType.INT32;
import static org.harnesslearning.llm.graph.ElementType.INT64;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.engine.CustomOperators.Call;
import org.harnesslearning.llm.engine.CustomOperators.Operator;

/** What the operators of {@link CudaOperators} compute, in fp32 on the processor: slow and plain. */
final class ReferenceOperators implements DecoderPlan.DecoderOperators {

    private final DecoderConfig config;
    private final boolean headNorms;

    ReferenceOperators(DecoderConfig config, boolean headNorms) {
        this.config = config;
        this.headNorms = headNorms;
    }

    @Override
    public String provider() {
        return "CPUExecutionProvider";
    }

    @Override
    public List<Operator> operators() {
        return List.of(
                new Operator(
                        "CachedAttention",
                        headNorms
                                ? List.of(FLOAT, FLOAT, FLOAT, FLOAT, FLOAT, INT32, FLOAT, FLOAT, FLOAT, FLOAT)
                                : List.of(FLOAT, FLOAT, FLOAT, FLOAT, FLOAT, INT32, FLOAT, FLOAT),
                        Set.of(1, 2),
                        List.of(FLOAT),
                        this::attention),
                new Operator("SwiGlu", List.of(FLOAT), Set.of(), List.of(FLOAT), this::swiGlu),
                new Operator(
                        "MatVec",
                        List.of(FLOAT, FLOAT, FLOAT, FLOAT, FLOAT),
                        Set.of(1, 3, 4),
                        List.of(FLOAT),
                        this::matVec),
                new Operator(
                        "MatVecSwiGlu", List.of(FLOAT, FLOAT, FLOAT), Set.of(), List.of(FLOAT), this::matVecSwiGlu),
                new Operator(
                        "SamplingHead",
                        List.of(FLOAT, FLOAT, FLOAT, INT64, FLOAT),
                        Set.of(),
                        List.of(FLOAT, FLOAT, INT64, FLOAT),
                        this::samplingHead));
    }

    private static float[] floats(MemorySegment memory, long count) {
        return HostMemory.segment(memory.address(), 4 * count).toArray(ValueLayout.JAVA_FLOAT);
    }

    private static void store(float[] values, MemorySegment memory, long at) {
        MemorySegment.copy(
                values,
                0,
                HostMemory.segment(memory.address(), 4 * (at + values.length)),
                ValueLayout.JAVA_FLOAT,
                4 * at,
                values.length);
    }

    private static long count(long[] shape) {
        return Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    }

    private void attention(Call call) {
        long[] shape = call.shape(0);
        int rows = (int) shape[0];
        int tokens = (int) shape[1];
        int head = config.headSize();
        int group = config.heads() / config.keyValueHeads();
        int capacity = (int) call.shape(3)[2];
        boolean packed = call.input(1).address() == 0;
        float[] queries = floats(call.input(0), count(shape));
        float[] newKeys = packed ? queries : floats(call.input(1), count(call.shape(1)));
        float[] newValues = packed ? queries : floats(call.input(2), count(call.shape(2)));
        int stride = packed ? (int) shape[2] : config.keyValueWidth();
        int[] last = HostMemory.segment(call.input(5).address(), 4L * rows).toArray(ValueLayout.JAVA_INT);
        float[] cosines = floats(call.input(6), count(call.shape(6)));
        float[] sines = floats(call.input(7), count(call.shape(7)));
        float[] queryNorm = headNorms ? floats(call.input(8), head) : null;
        float[] keyNorm = headNorms ? floats(call.input(9), head) : null;
        float[] output = new float[rows * tokens * config.queryWidth()];
        for (int token = 0; token < rows * tokens; token++) {
            int row = token / tokens;
            if (last[row] < 0) {
                continue;
            }
            int position = last[row] - (tokens - 1) + token % tokens;
            int from = token * (int) shape[2];
            for (int kv = 0; kv < config.keyValueHeads(); kv++) {
                int base = (row * config.keyValueHeads() + kv) * capacity * head;
                int key = token * stride + (packed ? config.queryWidth() : 0) + kv * head;
                int value = key + (packed ? config.keyValueWidth() : 0);
                store(
                        rotated(newKeys, key, keyNorm, cosines, sines, position),
                        call.input(3),
                        base + (long) position * head);
                store(Arrays.copyOfRange(newValues, value, value + head), call.input(4), base + (long) position * head);
                float[] keys = floats(call.input(3), base + (position + 1L) * head);
                float[] values = floats(call.input(4), base + (position + 1L) * head);
                for (int g = 0; g < group; g++) {
                    int which = kv * group + g;
                    float[] query = rotated(queries, from + which * head, queryNorm, cosines, sines, position);
                    double[] weights = new double[position + 1];
                    double sum = 0;
                    for (int cell = 0; cell <= position; cell++) {
                        double dot = 0;
                        for (int d = 0; d < head; d++) {
                            dot += query[d] * keys[base + cell * head + d];
                        }
                        weights[cell] = Math.exp(dot / Math.sqrt(head));
                        sum += weights[cell];
                    }
                    for (int d = 0; d < head; d++) {
                        double x = 0;
                        for (int cell = 0; cell <= position; cell++) {
                            x += weights[cell] * values[base + cell * head + d];
                        }
                        output[(token * config.heads() + which) * head + d] = (float) (x / sum);
                    }
                }
            }
        }
        store(output, call.output(0, rows, tokens, config.queryWidth()), 0);
    }

    private float[] rotated(float[] vector, int at, float[] norm, float[] cosines, float[] sines, int position) {
        float[] x = Arrays.copyOfRange(vector, at, at + config.headSize());
        if (norm != null) {
            x = normed(x, norm);
        }
        int half = x.length / 2;
        float[] result = new float[x.length];
        for (int d = 0; d < half; d++) {
            float c = cosines[position * half + d];
            float s = sines[position * half + d];
            result[d] = x[d] * c - x[d + half] * s;
            result[d + half] = x[d + half] * c + x[d] * s;
        }
        return result;
    }

    private float[] normed(float[] x, float[] norm) {
        double squares = 0;
        for (float value : x) {
            squares += value * value;
        }
        double scale = 1 / Math.sqrt(squares / x.length + config.normEpsilon());
        float[] result = new float[x.length];
        for (int i = 0; i < x.length; i++) {
            result[i] = (float) (x[i] * scale * norm[i]);
        }
        return result;
    }

    private static float gated(float gate, float up) {
        return (float) (gate / (1 + Math.exp(-gate)) * up);
    }

    private void swiGlu(Call call) {
        long[] shape = call.shape(0);
        int width = (int) shape[2] / 2;
        float[] both = floats(call.input(0), count(shape));
        float[] output = new float[both.length / 2];
        for (int row = 0; row < both.length / (2 * width); row++) {
            for (int i = 0; i < width; i++) {
                output[row * width + i] = gated(both[row * 2 * width + i], both[(row * 2 + 1) * width + i]);
            }
        }
        store(output, call.output(0, shape[0], shape[1], width), 0);
    }

    private void matVec(Call call) {
        float[] output = product(call);
        if (call.input(3).address() != 0) {
            add(output, floats(call.input(3), output.length));
        }
        if (call.input(4).address() != 0) {
            add(output, floats(call.input(4), output.length));
        }
        store(output, call.output(0, 1, 1, output.length), 0);
    }

    private static void add(float[] to, float[] values) {
        for (int i = 0; i < to.length; i++) {
            to[i] += values[i];
        }
    }

    private void matVecSwiGlu(Call call) {
        float[] both = product(call);
        float[] output = new float[both.length / 2];
        for (int i = 0; i < output.length; i++) {
            output[i] = gated(both[i], both[output.length + i]);
        }
        store(output, call.output(0, 1, 1, output.length), 0);
    }

    private float[] product(Call call) {
        long[] shape = call.shape(2);
        int columns = (int) shape[1];
        float[] x = floats(call.input(0), columns);
        if (call.input(1).address() != 0) {
            x = normed(x, floats(call.input(1), columns));
        }
        float[] matrix = floats(call.input(2), count(shape));
        float[] output = new float[(int) shape[0]];
        for (int row = 0; row < output.length; row++) {
            double sum = 0;
            for (int i = 0; i < columns; i++) {
                sum += matrix[row * columns + i] * x[i];
            }
            output[row] = (float) sum;
        }
        return output;
    }

    private void samplingHead(Call call) {
        int rows = (int) call.shape(0)[0];
        int vocabulary = (int) call.shape(0)[1];
        int penalised = (int) call.shape(3)[1];
        float[] logits = floats(call.input(0), count(call.shape(0)));
        float[] raw = logits.clone();
        float[] factors = floats(call.input(1), rows);
        float[] penalties = floats(call.input(2), rows);
        long[] tokens = HostMemory.segment(call.input(3).address(), 8L * rows * penalised)
                .toArray(ValueLayout.JAVA_LONG);
        float[] offsets = floats(call.input(4), (long) rows * penalised);
        int top = Math.min(64, vocabulary);
        float[] topLogits = new float[rows * top];
        long[] topTokens = new long[rows * top];
        float[] logSums = new float[rows];
        for (int row = 0; row < rows; row++) {
            int base = row * vocabulary;
            for (int i = 0; i < penalised && penalised > 1; i++) {
                int at = base + (int) tokens[row * penalised + i];
                float x = raw[at];
                logits[at] = (x > 0 ? x / penalties[row] : x * penalties[row]) - offsets[row * penalised + i];
            }
            double sum = 0;
            for (int i = base; i < base + vocabulary; i++) {
                logits[i] *= factors[row];
                sum += Math.exp(logits[i]);
            }
            logSums[row] = (float) Math.log(sum);
            int[] order = IntStream.range(0, vocabulary)
                    .boxed()
                    .sorted(Comparator.comparing((Integer token) -> -logits[base + token]))
                    .mapToInt(Integer::intValue)
                    .toArray();
            for (int i = 0; i < top; i++) {
                topLogits[row * top + i] = logits[base + order[i]];
                topTokens[row * top + i] = order[i];
            }
        }
        store(logits, call.output(0, rows, vocabulary), 0);
        store(topLogits, call.output(1, rows, top), 0);
        MemorySegment.copy(
                topTokens,
                0,
                HostMemory.segment(call.output(2, rows, top).address(), 8L * rows * top),
                ValueLayout.JAVA_LONG,
                0,
                rows * top);
        store(logSums, call.output(3, rows, 1), 0);
    }

    @Override
    public void close() {
        // nothing
    }
}
