package org.harnesslearning.trainer.decoder;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.jspecify.annotations.Nullable;

/**
 * The trained weights: all factors lie one after the other in one vector, their gradients in another of the same layout,
 * and, where products are in a narrower type, a copy in that type in a third.
 *
 * <p>For each matrix of a block the A of its modules lie next to each other and so form one matrix.
 */
final class Adapter implements AutoCloseable {

    private final Keeper keeper = new Keeper();
    private final LoraSettings settings;
    private final Tensor values;
    private final Tensor gradients;
    private final Tensor compute;
    private final boolean narrower;
    private final List<AdapterParameter> parameters = new ArrayList<>();
    private final List<Map<Projection, Factors>> factors = new ArrayList<>();

    /** B of one module: its rows in the matrix's outputs, its columns in the hidden vector of all the matrix's modules. */
    record Up(int firstRow, int rows, int firstRank, Tensor b, Tensor transposed, Tensor gradient) {}

    /**
     * The factors of one matrix.
     *
     * @param a (ranks of all modules, inputs) in the type of products
     * @param transposed a view of it
     * @param gradient of a, in the type of master weights
     */
    record Factors(Tensor a, Tensor transposed, Tensor gradient, List<Up> ups) {}

    /**
     * A new adapter: A uniform in ±1/√inputs (Kaiming's with a = √5, as PEFT), B zero, so that it has no effect yet.
     *
     * @param type of products
     * @param masterType of weights and gradients
     */
    @SuppressWarnings("try")
    Adapter(
            DecoderConfig config,
            LoraSettings settings,
            ScalarType type,
            ScalarType masterType,
            Device device,
            long seed) {
        this.settings = settings;
        try (PointerScope scope = new PointerScope()) {
            long total = 0;
            for (Projection projection : Projection.all()) {
                for (Projection.Module module : projection.targets(settings.targetModules())) {
                    total += (long) settings.rank() * (projection.inputs(config) + module.outputs(config));
                }
            }
            total = Math.multiplyExact(total, (long) config.layers());
            values = keeper.keep(Torch.zeros(Torch.options(masterType, device), total));
            gradients = keeper.keep(Torch.zeros(Torch.options(masterType, device), total));
            narrower = type != masterType;
            compute = narrower ? keeper.keep(Torch.zeros(Torch.options(type, device), total)) : values;
            SplittableRandom random = new SplittableRandom(seed);
            long at = 0;
            for (int layer = 0; layer < config.layers(); layer++) {
                Map<Projection, Factors> ofLayer = new EnumMap<>(Projection.class);
                for (Projection projection : Projection.all()) {
                    List<Projection.Module> targets = projection.targets(settings.targetModules());
                    if (!targets.isEmpty()) {
                        at = add(config, layer, projection, targets, at, ofLayer, random, device);
                    }
                }
                factors.add(ofLayer);
            }
        }
    }

    @SuppressWarnings("try")
    private long add(
            DecoderConfig config,
            int layer,
            Projection projection,
            List<Projection.Module> targets,
            long start,
            Map<Projection, Factors> ofLayer,
            SplittableRandom random,
            Device device) {
        try (PointerScope scope = new PointerScope()) {
            int rank = settings.rank();
            int inputs = projection.inputs(config);
            long at = start;
            long downs = (long) targets.size() * rank * inputs;
            Tensor a = view(compute, at, (long) targets.size() * rank, inputs);
            Tensor gradient = view(gradients, at, (long) targets.size() * rank, inputs);
            List<Up> ups = new ArrayList<>();
            long next = start + downs;
            for (int i = 0; i < targets.size(); i++) {
                Projection.Module module = targets.get(i);
                parameter(module.factor(layer, 'A'), at, rank, inputs)
                        .copy_(uniform(random, rank * inputs, 1 / Math.sqrt(inputs), device)
                                .view(rank, inputs));
                at += (long) rank * inputs;
                int outputs = module.outputs(config);
                Tensor b = view(compute, next, outputs, rank);
                ups.add(new Up(
                        projection.firstRow(module, config),
                        outputs,
                        i * rank,
                        b,
                        keeper.keep(b.t()),
                        view(gradients, next, outputs, rank)));
                parameter(module.factor(layer, 'B'), next, outputs, rank);
                next += (long) outputs * rank;
            }
            ofLayer.put(projection, new Factors(a, keeper.keep(a.t()), gradient, List.copyOf(ups)));
            return next;
        }
    }

    private Tensor parameter(String name, long at, int rows, int columns) {
        Tensor value = view(values, at, rows, columns);
        parameters.add(new AdapterParameter(name, value, view(gradients, at, rows, columns)));
        return value;
    }

    private Tensor view(Tensor vector, long at, long rows, long columns) {
        return keeper.keep(vector.narrow(0, at, rows * columns).view(rows, columns));
    }

    private Tensor uniform(SplittableRandom random, int count, double bound, Device device) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = (float) ((2 * random.nextDouble() - 1) * bound);
        }
        return Torch.upload(numbers, device, values.scalar_type());
    }

    LoraSettings settings() {
        return settings;
    }

    Tensor values() {
        return values;
    }

    Tensor gradients() {
        return gradients;
    }

    List<AdapterParameter> parameters() {
        return Collections.unmodifiableList(parameters);
    }

    /** The factors of a matrix, if it has some. */
    @Nullable
    Factors factors(int layer, Projection projection) {
        return factors.get(layer).get(projection);
    }

    /**
     * Takes over changed weights for the products that follow.
     *
     * @throws NonFiniteException if some are no numbers; attention could hide them, so results do not tell
     */
    @SuppressWarnings("try")
    void refresh() {
        try (PointerScope scope = new PointerScope()) {
            if (!Double.isFinite(
                    values.sum(new ScalarTypeOptional(ScalarType.Double)).item_double())) {
                String names = parameters.stream()
                        .filter(parameter -> !parameter.value().isfinite().all().item_bool())
                        .map(AdapterParameter::name)
                        .collect(Collectors.joining(", "));
                throw new NonFiniteException("weights of the adapter are no numbers: " + names);
            }
            if (narrower) {
                compute.copy_(values);
            }
        }
    }

    @Override
    public void close() {
        keeper.close();
    }
}
