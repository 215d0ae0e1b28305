package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.onnxruntime.Env;
import org.bytedeco.onnxruntime.IoBinding;
import org.bytedeco.onnxruntime.MemoryInfo;
import org.bytedeco.onnxruntime.RunOptions;
import org.bytedeco.onnxruntime.Session;
import org.bytedeco.onnxruntime.SessionOptions;
import org.bytedeco.onnxruntime.Value;
import org.bytedeco.onnxruntime.global.onnxruntime;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.checkpoint.Dequantiser;
import org.harnesslearning.llm.checkpoint.TinyCheckpoints;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.graph.Weight;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One buffer for past and present keys and values, against buffers that are made anew and longer with every step. */
class GrowingCacheTest {

    private static final int LENGTH = 40;

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"llama-untied", "qwen2-untied", "qwen3-tied"})
    void theSharedBufferGivesWhatAGrowingCacheGives(String name) throws IOException {
        Path path = TinyCheckpoints.huggingFace(directory, name, 1);
        int[] tokens = new Random(3).ints(LENGTH, 0, 96).toArray();
        // A prompt in two chunks, then token by token.
        int[] ends = new int[LENGTH - 12];
        Arrays.setAll(ends, i -> i == 0 ? 7 : 12 + i);
        try (OnnxDecoder shared = new OnnxDecoder(Checkpoint.open(path), 3, 2, 64, 1, true);
                Growing growing = new Growing(Checkpoint.open(path))) {
            int past = 0;
            for (int end : ends) {
                int[] added = Arrays.copyOfRange(tokens, past, end);
                float[] expected = growing.extend(added);
                float[] actual =
                        shared.extend(2, past, added, Shaping.PLAIN).allLogits().get();
                assertThat(actual).as("after %d tokens", end).containsExactly(expected, Offset.offset(1e-5f));
                past = end;
            }
        }
    }

    /** The same graph with caches that end where the sequence does. */
    private static final class Growing implements AutoCloseable {

        private final Checkpoint checkpoint;
        private final DecoderConfig config;
        private final Arena arena = Arena.ofConfined();
        private final MemoryInfo place =
                MemoryInfo.CreateCpu(onnxruntime.OrtDeviceAllocator, onnxruntime.OrtMemTypeDefault);
        private final Env environment = new Env(onnxruntime.ORT_LOGGING_LEVEL_WARNING, "growing");
        private final Session session;
        private List<MemorySegment> caches;
        private int past;

        Growing(Checkpoint checkpoint) {
            this.checkpoint = checkpoint;
            this.config = checkpoint.config();
            DecoderGraph.Built graph = DecoderGraph.build(checkpoint, DecoderGraph.Options.of(checkpoint, 64, true));
            List<Value> values = new ArrayList<>();
            try (SessionOptions options = new SessionOptions();
                    BytePointer model = new BytePointer(graph.model())) {
                options.SetIntraOpNumThreads(1);
                options.AddConfigEntry("session.use_device_allocator_for_initializers", "1");
                for (Weight weight : graph.weights()) {
                    List<MemorySegment> targets = weight.specs().stream()
                            .map(spec -> allocate(spec.byteSize()))
                            .toList();
                    weight.filler().fill(targets);
                    for (int i = 0; i < targets.size(); i++) {
                        Weight.Spec spec = weight.specs().get(i);
                        long[] shape =
                                spec.shape().stream().mapToLong(Long::longValue).toArray();
                        Value value = tensor(targets.get(i), spec.type(), shape);
                        values.add(value);
                        options.AddInitializer(spec.name(), value.asOrtValue());
                    }
                }
                this.session = new Session(environment, model, graph.model().length, options);
            } finally {
                values.forEach(Value::close);
            }
            this.caches = caches(0);
        }

        private MemorySegment allocate(long bytes) {
            return arena.allocate(Math.max(bytes, 1), 64);
        }

        private Value tensor(MemorySegment memory, ElementType type, long... shape) {
            long bytes = type.bytes();
            for (long dimension : shape) {
                bytes *= dimension;
            }
            try (Address address = new Address(memory.address())) {
                return Value.CreateTensor(place.asOrtMemoryInfo(), address, bytes, shape, shape.length, type.id());
            }
        }

        private List<MemorySegment> caches(int cells) {
            List<MemorySegment> made = new ArrayList<>();
            for (int i = 0; i < 2 * config.layers(); i++) {
                made.add(allocate(4L * config.keyValueHeads() * cells * config.headSize()));
            }
            return made;
        }

        float[] extend(int[] tokens) {
            int total = past + tokens.length;
            MemorySegment embeddings = allocate(4L * tokens.length * config.hidden());
            float[] row = new float[config.hidden()];
            for (int i = 0; i < tokens.length; i++) {
                Dequantiser.row(checkpoint.embedding(), tokens[i], row, 0);
                MemorySegment.copy(row, 0, embeddings, ValueLayout.JAVA_FLOAT, 4L * i * row.length, row.length);
            }
            int top = Math.min(DecoderGraph.MAX_TOP, config.vocabulary());
            MemorySegment logits = allocate(4L * config.vocabulary());
            List<MemorySegment> present = caches(total);
            List<Value> values = new ArrayList<>();
            try (IoBinding io = new IoBinding(session);
                    RunOptions options = new RunOptions()) {
                input(io, values, DecoderGraph.EMBEDDINGS, embeddings, ElementType.FLOAT, 1, tokens.length, row.length);
                input(io, values, DecoderGraph.LAST_POSITIONS, ints(total - 1), ElementType.INT32, 1);
                input(io, values, DecoderGraph.TOTAL_LENGTH, ints(total), ElementType.INT32);
                input(io, values, DecoderGraph.INVERSE_TEMPERATURE, floats(1), ElementType.FLOAT, 1, 1);
                input(io, values, DecoderGraph.PENALTY, floats(1), ElementType.FLOAT, 1, 1);
                input(io, values, DecoderGraph.PENALISED, allocate(8), ElementType.INT64, 1, 1);
                input(io, values, DecoderGraph.PENALTY_OFFSETS, floats(0), ElementType.FLOAT, 1, 1);
                for (int layer = 0; layer < config.layers(); layer++) {
                    List<String> names = DecoderGraph.cacheNames(layer);
                    for (int part = 0; part < 2; part++) {
                        input(
                                io,
                                values,
                                names.get(part),
                                caches.get(2 * layer + part),
                                ElementType.FLOAT,
                                1,
                                config.keyValueHeads(),
                                past,
                                config.headSize());
                        output(
                                io,
                                values,
                                names.get(part + 2),
                                present.get(2 * layer + part),
                                ElementType.FLOAT,
                                1,
                                config.keyValueHeads(),
                                total,
                                config.headSize());
                    }
                }
                output(io, values, DecoderGraph.LOGITS, logits, ElementType.FLOAT, 1, config.vocabulary());
                output(io, values, DecoderGraph.TOP_LOGITS, allocate(4L * top), ElementType.FLOAT, 1, top);
                output(io, values, DecoderGraph.TOP_TOKENS, allocate(8L * top), ElementType.INT64, 1, top);
                output(io, values, DecoderGraph.LOG_SUM, allocate(4), ElementType.FLOAT, 1, 1);
                session.Run(options, io);
            } finally {
                values.forEach(Value::close);
            }
            caches = present;
            past = total;
            return logits.toArray(ValueLayout.JAVA_FLOAT);
        }

        private MemorySegment ints(int value) {
            MemorySegment segment = allocate(4);
            segment.set(ValueLayout.JAVA_INT, 0, value);
            return segment;
        }

        private MemorySegment floats(float value) {
            MemorySegment segment = allocate(4);
            segment.set(ValueLayout.JAVA_FLOAT, 0, value);
            return segment;
        }

        private void input(
                IoBinding io, List<Value> values, String name, MemorySegment segment, ElementType type, long... shape) {
            Value value = tensor(segment, type, shape);
            values.add(value);
            io.BindInput(name, value);
        }

        private void output(
                IoBinding io, List<Value> values, String name, MemorySegment segment, ElementType type, long... shape) {
            Value value = tensor(segment, type, shape);
            values.add(value);
            io.BindOutput(name, value);
        }

        @Override
        public void close() {
            session.close();
            environment.close();
            place.close();
            arena.close();
            checkpoint.close();
        }
    }

    /** A native address as JavaCPP wants it. */
    private static final class Address extends Pointer {

        Address(long value) {
            address = value;
        }
    }
}
