package org.harnesslearning.benchmarks;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.llm.Device;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.GenerationResult;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.NumberType;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.Sequence;
import org.harnesslearning.llm.checkpoint.LoraAdapter;

/**
 * What an adapter costs a step of decoding: batches of equal size of which no row, one row and every row has it, in turns in
 * one run, with the ratio to the first.
 *
 * <p>Arguments: checkpoint, folder of an adapter in PEFT's form, then {@code name=value}: {@code device} (cpu, or cuda),
 * {@code type} (AUTO), {@code graphs} (true), {@code prompt} (128), {@code new} (64), {@code batches} (1,8),
 * {@code repeats} (3), {@code resident} (6 places for adapters), {@code rank} (16, most of a place).
 *
 * <p>The first eight tokens of a row without and of one with the adapter are printed, and a hash of all tokens of all rows, to
 * compare runs by.
 */
public final class AdapterBenchmark {

    private static final PrintStream OUT = System.out;

    private AdapterBenchmark() {}

    public static void main(String[] arguments) {
        if (arguments.length < 2) {
            OUT.println("usage: AdapterBenchmark CHECKPOINT ADAPTER [NAME=VALUE ...]");
            return;
        }
        Map<String, String> settings = TrainingBenchmark.options(Arrays.copyOfRange(arguments, 1, arguments.length));
        int prompt = TrainingBenchmark.integer(settings, "prompt", 128);
        int fresh = TrainingBenchmark.integer(settings, "new", 64);
        int repeats = TrainingBenchmark.integer(settings, "repeats", 3);
        List<Integer> batches = GpuBenchmark.sizes(settings.getOrDefault("batches", "1,8"));
        Device device = settings.getOrDefault("device", "cpu").equals("cuda")
                ? new Device.Cuda(0, Boolean.parseBoolean(settings.getOrDefault("graphs", "true")), true)
                : Device.cpu();
        EngineOptions options = EngineOptions.defaults()
                .withSlots(batches.stream().mapToInt(Integer::intValue).max().orElse(1))
                .withMaxSequence(prompt + fresh)
                .withAdapters(
                        TrainingBenchmark.integer(settings, "resident", 6),
                        TrainingBenchmark.integer(settings, "rank", 16))
                .withDevice(device, NumberType.valueOf(settings.getOrDefault("type", "AUTO")));
        try (LanguageModel model = LanguageModel.load(Path.of(arguments[0]), options)) {
            model.loadAdapter("tuned", LoraAdapter.read(Path.of(arguments[1])), false);
            for (int batch : batches) {
                Set<Integer> shares = new LinkedHashSet<>(List.of(0, 1, batch));
                Map<Integer, Double> best = new HashMap<>();
                Map<Integer, String> tokens = new HashMap<>();
                for (int i = 0; i < repeats; i++) {
                    for (int adapted : shares) {
                        Step step = step(model, prompt, fresh, batch, adapted);
                        best.merge(adapted, step.ms(), Math::min);
                        tokens.put(adapted, step.tokens());
                    }
                }
                double without = best.getOrDefault(0, Double.NaN);
                for (int adapted : shares) {
                    double ms = best.getOrDefault(adapted, Double.NaN);
                    OUT.printf(
                            "batch %3d, %3d with an adapter: %8.3f ms a step, %.2f of none, tokens %s%n",
                            batch, adapted, ms, ms / without, tokens.get(adapted));
                }
            }
        }
    }

    /** The mean time of a step, and the first tokens of the rows without and with the adapter with the hash of all. */
    private record Step(double ms, String tokens) {}

    private static Step step(LanguageModel model, int prompt, int fresh, int batch, int adapted) {
        GenerationRequest request = GenerationRequest.of(
                        GpuBenchmark.prompt(model, prompt), fresh, Sampling.greedy(), 1)
                .withIgnoreEndTokens(true);
        Generation tuned =
                adapted == 0 ? null : model.submit(request.withSamples(adapted).withAdapter("tuned"));
        Generation plain = adapted == batch ? null : model.submit(request.withSamples(batch - adapted));
        double ms = Double.POSITIVE_INFINITY;
        StringBuilder first = new StringBuilder();
        int hash = 1;
        for (Generation generation : new Generation[] {plain, tuned}) {
            if (generation != null) {
                GenerationResult result = generation.result().join();
                // The one that began later saw whole batches only; the other one's steps are a few more.
                ms = Math.min(ms, result.decode().toNanos() / 1e6 / (fresh - 1));
                first.append(Arrays.toString(
                        Arrays.copyOf(result.sequences().getFirst().tokenIds(), 8)));
                for (Sequence sequence : result.sequences()) {
                    hash = 31 * hash + Arrays.hashCode(sequence.tokenIds());
                }
            }
        }
        return new Step(ms, first.append(String.format(" hash %08x", hash)).toString());
    }
}
