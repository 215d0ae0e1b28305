package org.harnesslearning.llm.engine;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.onnxruntime.Env;
import org.bytedeco.onnxruntime.Session;
import org.bytedeco.onnxruntime.SessionOptions;
import org.bytedeco.onnxruntime.Value;
import org.bytedeco.onnxruntime.global.onnxruntime;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.Weight;

/** Makes sessions of ONNX Runtime. */
final class OnnxRuntime {

    static {
        // JavaCPP would refuse allocations once the process is larger than a multiple of the Java heap.
        for (String property : List.of("org.bytedeco.javacpp.maxPhysicalBytes", "org.bytedeco.javacpp.maxBytes")) {
            if (System.getProperty(property) == null) {
                System.setProperty(property, "0");
            }
        }
    }

    private static final Env ENVIRONMENT = new Env(onnxruntime.ORT_LOGGING_LEVEL_WARNING, "harness-learning");

    private OnnxRuntime() {}

    /**
     * Fills the weights and makes a session.
     *
     * @param threads threads that fill the weights and that run each step
     */
    static Session session(DecoderGraph.Built graph, DeviceMemory memory, int threads) {
        Map<String, Value> values = new HashMap<>();
        try (SessionOptions options = new SessionOptions();
                BytePointer model = new BytePointer(graph.model())) {
            fill(graph.weights(), values, memory, threads);
            options.SetIntraOpNumThreads(threads);
            options.SetInterOpNumThreads(1);
            options.SetExecutionMode(onnxruntime.ORT_SEQUENTIAL);
            options.SetGraphOptimizationLevel(onnxruntime.ORT_ENABLE_BASIC);
            options.DisableMemPattern();
            options.AddConfigEntry("session.use_device_allocator_for_initializers", "1");
            for (Map.Entry<Object, Object> entry : System.getProperties().entrySet()) {
                if (entry.getKey().toString().startsWith("ort.")) {
                    options.AddConfigEntry(
                            entry.getKey().toString().substring(4),
                            entry.getValue().toString());
                }
            }
            values.forEach((name, value) -> options.AddInitializer(name, value.asOrtValue()));
            return new Session(ENVIRONMENT, model, graph.model().length, options);
        } finally {
            values.values().forEach(Value::close);
            Pointer.trimMemory();
        }
    }

    private static void fill(List<Weight> weights, Map<String, Value> values, DeviceMemory memory, int threads) {
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            List<Future<?>> pending = new ArrayList<>();
            for (Weight weight : weights) {
                List<MemorySegment> targets = new ArrayList<>();
                for (Weight.Spec spec : weight.specs()) {
                    long[] shape =
                            spec.shape().stream().mapToLong(Long::longValue).toArray();
                    MemorySegment target = memory.allocate(spec.byteSize());
                    values.put(spec.name(), memory.tensor(target, spec.type(), shape));
                    targets.add(target);
                }
                pending.add(pool.submit(() -> weight.filler().fill(targets)));
            }
            for (Future<?> future : pending) {
                future.get();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while loading weights", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("weights cannot be converted", e.getCause());
        }
    }
}
