package org.harnesslearning.llm.engine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.onnxruntime.IoBinding;
import org.bytedeco.onnxruntime.MemoryInfo;
import org.bytedeco.onnxruntime.RunOptions;
import org.bytedeco.onnxruntime.Session;
import org.bytedeco.onnxruntime.Value;
import org.bytedeco.onnxruntime.global.onnxruntime;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.checkpoint.Dequantiser;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.engine.DecoderPlan.DecoderOperators;
import org.harnesslearning.llm.ggml.Ggml;
import org.harnesslearning.llm.ggml.Products;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.DecoderGraph.Target;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.graph.StoredMatrix;
import org.harnesslearning.llm.graph.Weight;
import org.harnesslearning.llm.product.ProductOperator;
import org.harnesslearning.llm.sampling.Candidates;
import org.harnesslearning.llm.vnni.TiledMatrix;
import org.harnesslearning.llm.vnni.TiledProducts;
import org.harnesslearning.llm.vnni.Vnni;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A decoder on ONNX Runtime.
 *
 * <p>Keys and values of a layer lie in two buffers (rows, kv heads, max sequence, head) on the device, allocated once;
 * each step binds a range of rows as past <em>and</em> present, so that attention appends in place. All inputs and
 * outputs lie in memory that is allocated once. On a processor embeddings are looked up here, in the mapped checkpoint,
 * so that their table costs no memory of its own; on a GPU they are looked up in the graph.
 */
final class OnnxDecoder implements Decoder {

    private static final Logger LOG = LoggerFactory.getLogger(OnnxDecoder.class);
    private static final int PROBE_TOKENS = 16;
    private static final long ALIGNMENT = 256;
    private static final float MOST_FLOAT16 = 65_504;

    /** Fewest penalised tokens a row that a captured step is made for; more double. */
    private static final int CAPTURED_WIDTH = 64;

    private final Checkpoint checkpoint;
    private final DecoderConfig config;
    private final DecoderPlan plan;
    private final int rows;
    private final int batch;
    private final int maxSequence;
    private final int top;
    private final long cellBytes;
    private final long headBytes;
    private final long rowBytes;
    private final DeviceMemory memory;
    private final MemoryInfo hostInfo =
            MemoryInfo.CreateCpu(onnxruntime.OrtDeviceAllocator, onnxruntime.OrtMemTypeDefault);
    private final @Nullable CustomOperators operators;
    private final Stage prompt;
    private final Stage step;
    private final Stage single;
    private final Stage adapted;
    private final Stage adaptedStep;
    private final @Nullable AdapterStack adapterStack;
    private final Deque<Native> owned = new ArrayDeque<>();

    /** Matrices multiplied as they are stored, by tensor; the graphs share them. */
    private final Map<String, MemorySegment> copies = new HashMap<>();

    private final List<MemorySegment> caches = new ArrayList<>();
    private final MemorySegment spareRow;
    private final float[] embedding;
    private final MemorySegment totalLength;
    private final Region inputs;
    private final Region lastPositions;
    private final Region inverseTemperature;
    private final Region penalty;
    private final Region tokenIds;
    private final Region penalised;
    private final Region penaltyOffsets;
    private final Region embeddings;
    private final Region outputs;
    private final Region topLogits;
    private final Region topTokens;
    private final Region logSum;
    private final Region logits;
    private int graphIds;

    /**
     * A decoder on the host's processor.
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
        this(
                checkpoint,
                rows,
                batch,
                maxSequence,
                threads,
                DecoderPlan.processor(graph),
                adapters,
                adapterRank,
                new HostMemory(),
                DecoderPlan.noOperators());
    }

    /**
     * Takes over the memory, the operators, and the checkpoint, which stays mapped until {@link #close()}; where this
     * fails, the checkpoint stays the caller's, and nothing is left in native memory.
     *
     * @param rows rows of the cache
     * @param batch most rows of one step
     * @param plan graphs made for {@code maxSequence} positions of the checkpoint
     * @param adapters most resident adapters
     * @param adapterRank most rank of one
     * @param memory memory of the device
     * @param decoderOperators what the graphs use beside ONNX Runtime's operators
     */
    OnnxDecoder(
            Checkpoint checkpoint,
            int rows,
            int batch,
            int maxSequence,
            int threads,
            DecoderPlan plan,
            int adapters,
            int adapterRank,
            DeviceMemory memory,
            @Nullable DecoderOperators decoderOperators) {
        this.checkpoint = checkpoint;
        this.config = checkpoint.config();
        this.plan = plan;
        this.rows = rows;
        this.batch = batch;
        this.maxSequence = maxSequence;
        this.memory = memory;
        this.cellBytes = (long) config.headSize() * plan.type().bytes();
        this.headBytes = maxSequence * cellBytes;
        this.rowBytes = headBytes * config.keyValueHeads();
        this.embedding = new float[config.hidden()];
        this.top = plan.prompt().built().top();
        owned.push(memory::close);
        owned.push(hostInfo::close);
        if (decoderOperators != null) {
            owned.push(decoderOperators::close);
        }
        try {
            memory.enter();
            this.operators = decoderOperators == null
                    ? null
                    : new CustomOperators(
                            DecoderGraph.OWN_DOMAIN, decoderOperators.provider(), decoderOperators.operators());
            if (operators != null) {
                owned.push(operators::close);
            }
            long start = System.nanoTime();
            List<OnnxRuntime.Placed> weights = OnnxRuntime.place(plan.weights(), memory, threads);
            // The file's pages have been read; those that are wanted again (embeddings) come back from the page cache.
            checkpoint.tensors().forEach(tensor -> HostMemory.discard(tensor.data()));
            long placed = System.nanoTime();
            Map<DecoderPlan.Graph, Stage> made = new HashMap<>();
            this.prompt = stage(made, plan.prompt(), weights, threads);
            this.step = stage(made, plan.step(), weights, threads);
            this.single = stage(made, plan.single(), weights, threads);
            this.adapted = stage(made, plan.adapted(), weights, threads);
            this.adaptedStep = stage(made, plan.adaptedStep(), weights, threads);
            LOG.info(
                    "weights rearranged in {} ms, sessions made in {} ms",
                    (placed - start) / 1_000_000,
                    (System.nanoTime() - placed) / 1_000_000);
            for (int i = 0; i < 2 * config.layers(); i++) {
                caches.add(memory.allocate(rowBytes * rows));
            }
            spareRow = memory.allocate(rowBytes);
            totalLength = MemorySegment.ofBuffer(ByteBuffer.allocateDirect(4).order(ByteOrder.nativeOrder()));
            long perRow = align(4L * batch);
            long most = Math.max(batch, maxSequence);
            inputs = region(3 * perRow + 4 * most);
            lastPositions = inputs.slice(0, 4L * batch);
            inverseTemperature = inputs.slice(perRow, 4L * batch);
            penalty = inputs.slice(2 * perRow, 4L * batch);
            tokenIds = inputs.slice(3 * perRow, 4 * most);
            penalised = region(8L * batch * maxSequence);
            penaltyOffsets = region(4L * batch * maxSequence);
            embeddings = region(plan.prompt().target().gpu() ? 0 : 4 * most * config.hidden());
            outputs = region(align(4L * batch * top) + align(8L * batch * top) + 4L * batch);
            topLogits = outputs.slice(0, 4L * batch * top);
            topTokens = outputs.slice(align(4L * batch * top), 8L * batch * top);
            logSum = outputs.slice(align(4L * batch * top) + align(8L * batch * top), 4L * batch);
            logits = region(4L * batch * config.vocabulary());
            List<DecoderGraph.AdapterInput> adapterInputs =
                    plan.adapted().built().adapters();
            if (adapterInputs.isEmpty()) {
                adapterStack = null;
            } else {
                AdapterStack stack = new AdapterStack(adapterInputs, adapters, adapterRank, batch, plan.type(), memory);
                owned.push(stack::close);
                adapterStack = stack;
            }
            if (!plan.prompt().target().gpu()) {
                discardPacked(weights);
            }
        } catch (RuntimeException | Error e) {
            release();
            throw e;
        }
    }

    /** The stage of a graph, made once; those of steps are captured where the plan says so. */
    private Stage stage(
            Map<DecoderPlan.Graph, Stage> made,
            DecoderPlan.Graph graph,
            List<OnnxRuntime.Placed> weights,
            int threads) {
        Stage known = made.get(graph);
        if (known != null) {
            return known;
        }
        boolean captured = plan.captured()
                && List.of(plan.step(), plan.single(), plan.adaptedStep()).contains(graph);
        ProductOperator products = products(graph.built(), threads);
        if (products != null) {
            owned.push(products::close);
        }
        Stage stage = new Stage(
                graph,
                OnnxRuntime.session(
                        graph.built().model(),
                        graph.built().weights(),
                        weights,
                        memory,
                        graph.target().type(),
                        threads,
                        operators,
                        products,
                        captured),
                captured);
        owned.push(stage::close);
        made.put(graph, stage);
        return stage;
    }

    /** Device memory and what mirrors it on the host. */
    private record Region(MemorySegment device, MemorySegment host) {

        Region slice(long offset, long bytes) {
            return new Region(device.asSlice(offset, bytes), host.asSlice(offset, bytes));
        }
    }

    private Region region(long bytes) {
        MemorySegment device = memory.allocate(bytes);
        return new Region(device, memory.mirror(device));
    }

    private static long align(long bytes) {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    /** Makes the products of the graph ready. */
    private @Nullable ProductOperator products(DecoderGraph.Built graph, int threads) {
        if (graph.products().isEmpty()) {
            return null;
        }
        return switch (graph.kernels()) {
            case ONNX -> throw new IllegalStateException("ONNX Runtime has operators of its own");
            case GGML -> ggmlProducts(graph.products(), threads);
            case VNNI -> vnniProducts(graph.products(), threads);
        };
    }

    private ProductOperator ggmlProducts(List<List<StoredMatrix>> groups, int threads) {
        Ggml ggml = Ggml.available();
        if (ggml == null) {
            throw new IllegalStateException("ggml cannot be used on this machine");
        }
        Products products = new Products(ggml, threads);
        try {
            for (List<StoredMatrix> group : groups) {
                products.add(group.stream().map(this::matrix).toArray(Products.Matrix[]::new));
            }
            return new ProductOperator(products);
        } catch (RuntimeException | Error e) {
            products.close();
            throw e;
        }
    }

    private ProductOperator vnniProducts(List<List<StoredMatrix>> groups, int threads) {
        Vnni vnni = Vnni.available();
        if (vnni == null) {
            throw new IllegalStateException("this machine has no 512-bit byte products");
        }
        TiledProducts products = new TiledProducts(vnni, threads);
        try {
            for (List<StoredMatrix> group : groups) {
                products.add(group.stream().map(this::tiled).toList());
            }
            return new ProductOperator(products);
        } catch (RuntimeException | Error e) {
            products.close();
            throw e;
        }
    }

    private TiledMatrix tiled(StoredMatrix stored) {
        TiledMatrix matrix = TiledMatrix.of(stored, bytes -> HostMemory.allocateLargePages(memory, bytes));
        HostMemory.discard(stored.weight().data());
        return matrix;
    }

    private Products.Matrix matrix(StoredMatrix stored) {
        Tensor weight = stored.weight();
        return new Products.Matrix(
                weight.type(),
                copies.computeIfAbsent(weight.name(), name -> copy(stored)),
                Math.toIntExact(weight.shape().getFirst()),
                Math.toIntExact(weight.shape().getLast()),
                stored.bias());
    }

    /** Copies the matrix, as large pages are read up to a third faster than those of the mapped file. */
    private MemorySegment copy(StoredMatrix stored) {
        Tensor weight = stored.weight();
        MemorySegment data = HostMemory.allocateLargePages(memory, weight.data().byteSize());
        stored.copy(data);
        HostMemory.discard(weight.data());
        return data;
    }

    /**
     * Gives back the memory of weights that the kernels have copied. That they really do not read it again is tried
     * out, with the paths for many tokens and for one; where they do, the weights are put back.
     */
    private void discardPacked(List<OnnxRuntime.Placed> weights) {
        if (weights.stream().flatMap(placed -> placed.weight().specs().stream()).noneMatch(Weight.Spec::packed)) {
            return;
        }
        List<float[]> before = probe();
        for (OnnxRuntime.Placed placed : weights) {
            for (int i = 0; i < placed.targets().size(); i++) {
                if (placed.weight().specs().get(i).packed()) {
                    HostMemory.discard(placed.targets().get(i));
                }
            }
        }
        List<float[]> after = probe();
        for (int i = 0; i < before.size(); i++) {
            if (!Arrays.equals(before.get(i), after.get(i))) {
                LOG.warn("this processor's kernels read the weights in place: they stay in memory twice");
                weights.forEach(memory::fill);
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

    /** Captures the steps that requests without penalties need, so that none has to wait for it. */
    @Override
    public void prepare() {
        if (!plan.captured()) {
            return;
        }
        long start = System.nanoTime();
        int count = 1;
        while (true) {
            int[] zeros = new int[count];
            step(zeros, zeros, Collections.nCopies(count, Shaping.PLAIN));
            if (adapterStack != null) {
                step(zeros, zeros, Collections.nCopies(count, Shaping.PLAIN.withAdapter(0)));
            }
            if (count == batch) {
                break;
            }
            count = Math.min(2 * count, batch);
        }
        LOG.info("steps captured in {} ms", (System.nanoTime() - start) / 1_000_000);
    }

    @Override
    public Candidates extend(int row, int past, int[] tokens, Shaping shaping) {
        Stage stage = shaping.adapter() == Shaping.NO_ADAPTER ? prompt : adapted;
        return run(stage, row, new int[] {past}, tokens, List.of(shaping), 1).getFirst();
    }

    @Override
    public List<Candidates> step(int[] pasts, int[] tokens, List<Shaping> shapings) {
        Stage stage = shapings.stream().allMatch(shaping -> shaping.adapter() == Shaping.NO_ADAPTER)
                ? pasts.length == 1 ? single : step
                : adaptedStep;
        int padded = pasts.length;
        if (stage.captured && stage.target.ownAttention()) {
            // Fewer sizes are captured; our attention leaves the rows alone that fill up.
            padded = Math.min(batch, Integer.highestOneBit(Math.max(1, 2 * pasts.length - 1)));
        }
        return run(stage, 0, pasts, tokens, shapings, padded);
    }

    private List<Candidates> run(
            Stage stage, int firstRow, int[] pasts, int[] tokens, List<Shaping> shapings, int padded) {
        int count = pasts.length;
        int length = tokens.length / count;
        int total = 0;
        for (int i = 0; i < padded; i++) {
            Shaping shaping = i < count ? shapings.get(i) : Shaping.PLAIN;
            int end = i < count ? pasts[i] + length : 0;
            total = Math.max(total, end);
            lastPositions.host().setAtIndex(ValueLayout.JAVA_INT, i, end - 1);
            inverseTemperature.host().setAtIndex(ValueLayout.JAVA_FLOAT, i, shaping.inverseTemperature());
            penalty.host().setAtIndex(ValueLayout.JAVA_FLOAT, i, shaping.penalty());
        }
        if (total > maxSequence || firstRow + count > rows || count > batch) {
            throw new IllegalArgumentException("step outside the cache");
        }
        // Captured: the value of the capture would stay, so it is the bound that always holds.
        totalLength.set(ValueLayout.JAVA_INT, 0, stage.captured && length == 1 ? maxSequence : total);
        memory.enter();
        int widest = writePenalised(shapings, padded, stage.captured && length == 1, stage.target.own());
        if (stage.target.gpu()) {
            for (int i = 0; i < padded * length; i++) {
                tokenIds.host().setAtIndex(ValueLayout.JAVA_INT, i, i < tokens.length ? tokens[i] : 0);
            }
            memory.upload(
                    inputs.device(),
                    inputs.host(),
                    tokenIds.device().address() - inputs.device().address() + 4L * padded * length);
        } else {
            embed(tokens);
        }
        stage.run(firstRow, padded, length, widest, shapings);
        memory.download(outputs.host(), outputs.device(), outputs.device().byteSize());
        List<Candidates> candidates = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            candidates.add(candidates(i));
        }
        return candidates;
    }

    private void embed(int[] tokens) {
        Tensor table = checkpoint.embedding();
        for (int i = 0; i < tokens.length; i++) {
            Dequantiser.row(table, tokens[i], embedding, 0);
            MemorySegment.copy(
                    embedding, 0, embeddings.host(), ValueLayout.JAVA_FLOAT, 4L * i * config.hidden(), config.hidden());
        }
    }

    /**
     * Writes (rows, widest), padded with a repeated token: writing the same value twice does no harm.
     *
     * @param captured whether there may be few sizes only
     * @param ignored whether the graph does not look at a width of 1
     * @return widest; 1 if no row is penalised
     */
    private int writePenalised(List<Shaping> shapings, int count, boolean captured, boolean ignored) {
        int most = 0;
        for (Shaping shaping : shapings) {
            most = Math.max(most, shaping.penalised().length);
        }
        if (most == 0 && ignored) {
            return 1;
        }
        int widest = most == 0 ? 1 : ignored ? Math.max(2, most) : most;
        if (captured && most > 0) {
            widest = Math.min(maxSequence, Math.max(CAPTURED_WIDTH, Integer.highestOneBit(2 * most - 1)));
        }
        if (most > maxSequence) {
            throw new IllegalArgumentException(most + " penalised tokens in a row of " + maxSequence);
        }
        for (int row = 0; row < count; row++) {
            Shaping shaping = row < shapings.size() ? shapings.get(row) : Shaping.PLAIN;
            int[] tokens = shaping.penalised();
            for (int i = 0; i < widest; i++) {
                int from = Math.min(i, tokens.length - 1);
                long to = (long) row * widest + i;
                penalised.host().setAtIndex(ValueLayout.JAVA_LONG, to, from < 0 ? 0 : tokens[from]);
                penaltyOffsets.host().setAtIndex(ValueLayout.JAVA_FLOAT, to, from < 0 ? 0 : shaping.offsets()[from]);
            }
        }
        memory.upload(penalised.device(), penalised.host(), 8L * count * widest);
        memory.upload(penaltyOffsets.device(), penaltyOffsets.host(), 4L * count * widest);
        return widest;
    }

    private Candidates candidates(int row) {
        float[] values = new float[top];
        int[] tokens = new int[top];
        MemorySegment.copy(topLogits.host(), ValueLayout.JAVA_FLOAT, 4L * row * top, values, 0, top);
        for (int i = 0; i < top; i++) {
            tokens[i] = (int) topTokens.host().getAtIndex(ValueLayout.JAVA_LONG, (long) row * top + i);
        }
        return new Candidates(
                values, tokens, logSum.host().getAtIndex(ValueLayout.JAVA_FLOAT, row), () -> allLogits(row));
    }

    private float[] allLogits(int row) {
        long bytes = 4L * config.vocabulary();
        Region region = logits.slice(row * bytes, bytes);
        memory.download(region.host(), region.device(), bytes);
        return region.host().toArray(ValueLayout.JAVA_FLOAT);
    }

    @Override
    public void checkAdapter(LoraAdapter adapter) {
        adapter.checkShapes(config);
        if (plan.type() == ElementType.FLOAT16) {
            // An infinity would reach the rows of other adapters: masked, it is multiplied by 0.
            adapter.checkRange(MOST_FLOAT16);
        }
    }

    @Override
    public void writeAdapter(int slot, LoraAdapter adapter) {
        memory.enter();
        CaptureGate.beside(() -> adapterStack().write(slot, adapter));
    }

    @Override
    public void clearAdapter(int slot) {
        memory.enter();
        CaptureGate.beside(() -> adapterStack().clear(slot));
    }

    private AdapterStack adapterStack() {
        if (adapterStack == null) {
            throw new IllegalStateException("the graph takes no adapters");
        }
        return adapterStack;
    }

    @Override
    public void copy(int from, int to, int cells) {
        memory.enter();
        for (MemorySegment cache : caches) {
            copy(row(cache, to), row(cache, from), cells);
        }
    }

    @Override
    public void swap(int first, int firstCells, int second, int secondCells) {
        memory.enter();
        for (MemorySegment cache : caches) {
            copy(spareRow, row(cache, first), firstCells);
            copy(row(cache, first), row(cache, second), secondCells);
            copy(row(cache, second), spareRow, firstCells);
        }
    }

    private MemorySegment row(MemorySegment cache, int row) {
        return cache.asSlice(row * rowBytes, rowBytes);
    }

    private void copy(MemorySegment to, MemorySegment from, int cells) {
        memory.copy(to, from, cells * cellBytes, headBytes, config.keyValueHeads());
    }

    @Override
    public void close() {
        release();
        checkpoint.close();
    }

    /** Frees all native memory, whatever of it there is yet. */
    private void release() {
        memory.enter();
        CaptureGate.beside(() -> {
            while (!owned.isEmpty()) {
                owned.pop().close();
            }
        });
    }

    /** Something in native memory. */
    private interface Native {
        void close();
    }

    /** A session and its bindings. */
    private final class Stage implements AutoCloseable {

        private final Target target;
        private final boolean takesAdapters;
        private final Session session;
        private final boolean captured;
        private final Map<Long, Binding> bindings = new HashMap<>();

        Stage(DecoderPlan.Graph graph, Session session, boolean captured) {
            this.target = graph.target();
            this.takesAdapters = !graph.built().adapters().isEmpty();
            this.session = session;
            this.captured = captured;
        }

        void run(int firstRow, int count, int length, int widest, List<Shaping> shapings) {
            // A captured step owns its binding; others change the inputs whose shape differs.
            boolean replayed = captured && firstRow == 0 && length == 1;
            long key = (replayed ? (long) widest << 40 : 1L << 39) | (long) firstRow << 16 | count;
            Binding binding = bindings.get(key);
            if (binding == null) {
                binding = new Binding(this, firstRow, count, replayed);
                bindings.put(key, binding);
            }
            Binding bound = binding;
            if (!target.gpu()) {
                bound.run(length, widest, shapings);
            } else if (replayed && !bound.recorded) {
                CaptureGate.alone(() -> bound.run(length, widest, shapings));
                bound.recorded = true;
            } else {
                CaptureGate.beside(() -> bound.run(length, widest, shapings));
            }
        }

        @Override
        public void close() {
            bindings.values().forEach(Binding::close);
            session.close();
        }
    }

    /** The bound inputs and outputs of a range of rows. */
    private final class Binding implements AutoCloseable {

        private final Stage stage;
        private final int count;
        private final boolean replayed;
        private final IoBinding io;
        private final RunOptions options = new RunOptions();
        private final List<Value> values = new ArrayList<>();
        private @Nullable Value tokens;
        private @Nullable Value hit;
        private @Nullable Value taken;
        private AdapterStack.@Nullable Range adapterRows;
        private boolean recorded;
        private int boundLength;
        private int boundWidth;

        Binding(Stage stage, int firstRow, int count, boolean replayed) {
            this.stage = stage;
            this.count = count;
            this.replayed = replayed;
            this.io = new IoBinding(stage.session);
            if (stage.captured) {
                options.AddConfigEntry("gpu_graph_id", replayed ? Integer.toString(++graphIds) : "-1");
            }
            if (stage.target.gpu()) {
                // The copy of the results waits anyway.
                options.AddConfigEntry("disable_synchronize_execution_providers", "1");
            }
            boolean ownAttention = stage.target.ownAttention();
            for (int layer = 0; layer < config.layers(); layer++) {
                List<String> names = DecoderGraph.cacheNames(layer);
                for (int part = 0; part < 2; part++) {
                    MemorySegment cache = caches.get(2 * layer + part).asSlice(firstRow * rowBytes, count * rowBytes);
                    Value value =
                            value(cache, plan.type(), count, config.keyValueHeads(), maxSequence, config.headSize());
                    io.BindInput(names.get(part), value);
                    if (!ownAttention) {
                        io.BindOutput(names.get(part + 2), value);
                    }
                }
            }
            io.BindInput(DecoderGraph.LAST_POSITIONS, value(lastPositions.device(), ElementType.INT32, count));
            if (!ownAttention) {
                Value total = DeviceMemory.tensor(hostInfo, totalLength, ElementType.INT32);
                values.add(total);
                io.BindInput(DecoderGraph.TOTAL_LENGTH, total);
            }
            io.BindInput(
                    DecoderGraph.INVERSE_TEMPERATURE, value(inverseTemperature.device(), ElementType.FLOAT, count, 1));
            io.BindInput(DecoderGraph.PENALTY, value(penalty.device(), ElementType.FLOAT, count, 1));
            io.BindOutput(DecoderGraph.LOGITS, value(logits.device(), ElementType.FLOAT, count, config.vocabulary()));
            io.BindOutput(DecoderGraph.TOP_LOGITS, value(topLogits.device(), ElementType.FLOAT, count, top));
            io.BindOutput(DecoderGraph.TOP_TOKENS, value(topTokens.device(), ElementType.INT64, count, top));
            io.BindOutput(DecoderGraph.LOG_SUM, value(logSum.device(), ElementType.FLOAT, count, 1));
        }

        void run(int length, int widest, List<Shaping> shapings) {
            if (length != boundLength) {
                if (tokens != null) {
                    tokens.close();
                }
                if (stage.target.gpu()) {
                    tokens = memory.tensor(tokenIds.device(), ElementType.INT32, count, length);
                    io.BindInput(DecoderGraph.TOKENS, tokens);
                } else {
                    tokens = memory.tensor(embeddings.device(), ElementType.FLOAT, count, length, config.hidden());
                    io.BindInput(DecoderGraph.EMBEDDINGS, tokens);
                }
                boundLength = length;
            }
            if (widest != boundWidth) {
                if (hit != null) {
                    hit.close();
                }
                if (taken != null) {
                    taken.close();
                }
                taken = memory.tensor(penaltyOffsets.device(), ElementType.FLOAT, count, widest);
                io.BindInput(DecoderGraph.PENALTY_OFFSETS, taken);
                hit = memory.tensor(penalised.device(), ElementType.INT64, count, widest);
                io.BindInput(DecoderGraph.PENALISED, hit);
                boundWidth = widest;
            }
            AdapterStack stack = adapterStack;
            if (stack != null && stage.takesAdapters) {
                useAdapters(stack, shapings);
            }
            stage.session.Run(options, io);
        }

        private void useAdapters(AdapterStack stack, List<Shaping> shapings) {
            int[] used = new int[count];
            Arrays.setAll(used, i -> i < shapings.size() ? shapings.get(i).adapter() : Shaping.NO_ADAPTER);
            AdapterStack.Range range = replayed ? stack.all() : stack.range(used);
            if (!range.equals(adapterRows)) {
                stack.bind(io, range, count);
                adapterRows = range;
            }
            stack.writeMask(used, range);
        }

        private Value value(MemorySegment segment, ElementType type, long... shape) {
            Value value = memory.tensor(segment, type, shape);
            values.add(value);
            return value;
        }

        @Override
        public void close() {
            io.close();
            options.close();
            values.forEach(Value::close);
            if (tokens != null) {
                tokens.close();
            }
            if (hit != null) {
                hit.close();
            }
            if (taken != null) {
                taken.close();
            }
        }
    }
}
