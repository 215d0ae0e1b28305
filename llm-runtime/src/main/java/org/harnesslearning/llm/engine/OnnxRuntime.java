package org.harnesslearning.llm.engine;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.onnxruntime.Env;
import org.bytedeco.onnxruntime.Session;
import org.bytedeco.onnxruntime.SessionOptions;
import org.bytedeco.onnxruntime.Value;
import org.bytedeco.onnxruntime.global.onnxruntime;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.graph.Weight;
import org.harnesslearning.llm.product.ProductOperator;
import org.jspecify.annotations.Nullable;

/** Makes sessions of ONNX Runtime whose weights lie in memory of ours. */
final class OnnxRuntime {

    static {
        Natives.choose();
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
     * A weight with the memory of each of its initialisers.
     *
     * @param weight what fills it
     * @param targets device memory, one segment for each spec
     */
    record Placed(Weight weight, List<MemorySegment> targets) {}

    /**
     * Allocates device memory for the weights and fills it with {@code threads} threads. A weight that occurs more than
     * once (in graphs that share their weights) is placed once, and one that is a view of another takes no memory.
     */
    static List<Placed> place(List<Weight> weights, DeviceMemory memory, int threads) {
        List<Placed> placed = new ArrayList<>();
        Set<String> names = weights.stream()
                .flatMap(weight -> weight.views().stream())
                .map(Weight.View::name)
                .collect(Collectors.toCollection(HashSet::new));
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            List<Future<?>> pending = new ArrayList<>();
            for (Weight weight : weights) {
                if (!names.add(weight.specs().getFirst().name())) {
                    continue;
                }
                Placed one = new Placed(
                        weight,
                        weight.specs().stream()
                                .map(spec -> memory.allocate(spec.byteSize()))
                                .toList());
                placed.add(one);
                pending.add(pool.submit(() -> memory.fill(one)));
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
        return placed;
    }

    private static SessionOptions options(int threads) {
        SessionOptions options = new SessionOptions();
        options.SetIntraOpNumThreads(threads);
        options.SetInterOpNumThreads(1);
        options.SetExecutionMode(onnxruntime.ORT_SEQUENTIAL);
        options.DisableMemPattern();
        options.AddConfigEntry("session.use_device_allocator_for_initializers", "1");
        // Waiting threads sleep: spinning saves a tenth of a step on an idle machine, and on a busy one costs a
        // multiple.
        options.AddConfigEntry("session.intra_op.allow_spinning", "0");
        return options;
    }

    /** Makes a session of a model file, whose weights may lie in files beside it. */
    static Session session(Path model, int threads) {
        try (SessionOptions options = options(threads);
                BytePointer path = new BytePointer(model.toString(), StandardCharsets.UTF_8)) {
            options.SetGraphOptimizationLevel(onnxruntime.ORT_ENABLE_ALL);
            return new Session(ENVIRONMENT, path, options);
        }
    }

    /** Makes a session on the host's processor. */
    static Session session(byte[] model, List<Placed> weights, HostMemory memory, int threads) {
        List<Weight> used = weights.stream().map(Placed::weight).toList();
        return session(model, used, weights, memory, ElementType.FLOAT, threads, null, null, false);
    }

    /**
     * Makes a session.
     *
     * @param model serialised {@code ModelProto}
     * @param used its initialisers
     * @param weights those and maybe more; their memory must outlive the session
     * @param type number type of activations
     * @param threads threads that run a step
     * @param operators operators of our own; must outlive the session
     * @param products what computes the graph's products with stored matrices; null where it has none
     * @param captured whether steps will be captured as CUDA graphs
     */
    static Session session(
            byte[] model,
            List<Weight> used,
            List<Placed> weights,
            DeviceMemory memory,
            ElementType type,
            int threads,
            @Nullable CustomOperators operators,
            @Nullable ProductOperator products,
            boolean captured) {
        Map<String, MemorySegment> segments = new HashMap<>();
        for (Placed placed : weights) {
            for (int i = 0; i < placed.targets().size(); i++) {
                segments.put(
                        placed.weight().specs().get(i).name(), placed.targets().get(i));
            }
            for (Weight.View view : placed.weight().views()) {
                segments.put(view.name(), placed.targets().getFirst().asSlice(view.offset(), view.bytes()));
            }
        }
        List<Value> values = new ArrayList<>();
        try (SessionOptions options = options(threads);
                BytePointer bytes = new BytePointer(model)) {
            options.SetGraphOptimizationLevel(onnxruntime.ORT_ENABLE_BASIC);
            memory.configure(options, type, captured);
            if (operators != null) {
                operators.addTo(options);
            }
            if (products != null) {
                products.register(options);
            }
            for (Weight weight : used) {
                for (Weight.Spec spec : weight.specs()) {
                    MemorySegment segment = segments.get(spec.name());
                    if (segment == null) {
                        throw new IllegalStateException("weight " + spec.name() + " has not been placed");
                    }
                    long[] shape =
                            spec.shape().stream().mapToLong(Long::longValue).toArray();
                    Value value = memory.tensor(segment, spec.type(), shape);
                    values.add(value);
                    options.AddInitializer(spec.name(), value.asOrtValue());
                }
            }
            return new Session(ENVIRONMENT, bytes, model.length, options);
        } finally {
            values.forEach(Value::close);
        }
    }
}
