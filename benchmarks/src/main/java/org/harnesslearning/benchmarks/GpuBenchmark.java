package org.harnesslearning.benchmarks;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.harnesslearning.llm.Device;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.GenerationResult;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.NumberType;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.cuda.CudaProfiler;

/**
 * Prefill and decode speed of a checkpoint on one GPU, greedily, through the engine.
 *
 * <p>Arguments: checkpoint, then {@code name=value}: {@code prompt} (512), {@code new} (256), {@code batches} (1,16,64),
 * {@code type} (AUTO), {@code graphs} (true), {@code kernels} (true), {@code repeats} (2), {@code cap} (1024, cells of a
 * row), {@code profile} (false: whether a profiler is to see one step of each batch).
 *
 * <p>All rows of a batch continue the same prompt, prefilled once; what each step reads and computes does not depend on
 * that. The first eight tokens are printed, for a comparison with others.
 */
public final class GpuBenchmark {

    private static final PrintStream OUT = System.out;

    private GpuBenchmark() {}

    public static void main(String[] arguments) {
        if (arguments.length == 0) {
            OUT.println("usage: GpuBenchmark CHECKPOINT [NAME=VALUE ...]");
            return;
        }
        Map<String, String> settings = TrainingBenchmark.options(arguments);
        int prompt = TrainingBenchmark.integer(settings, "prompt", 512);
        int fresh = TrainingBenchmark.integer(settings, "new", 256);
        int repeats = TrainingBenchmark.integer(settings, "repeats", 2);
        boolean profile = Boolean.parseBoolean(settings.getOrDefault("profile", "false"));
        List<Integer> batches = sizes(settings.getOrDefault("batches", "1,16,64"));
        Device device = new Device.Cuda(
                0,
                Boolean.parseBoolean(settings.getOrDefault("graphs", "true")),
                Boolean.parseBoolean(settings.getOrDefault("kernels", "true")));
        EngineOptions options = EngineOptions.defaults()
                .withSlots(batches.stream().mapToInt(Integer::intValue).max().orElse(1))
                .withMaxSequence(TrainingBenchmark.integer(settings, "cap", 1024))
                .withDevice(device, NumberType.valueOf(settings.getOrDefault("type", "AUTO")));
        long start = System.nanoTime();
        try (LanguageModel model = LanguageModel.load(Path.of(arguments[0]), options)) {
            double loaded = seconds(start);
            generate(model, prompt, 4, 1, false);
            OUT.printf(
                    "%s %s, %,d parameters: loaded in %.1f s, first tokens after %.1f s%n",
                    model.card().name(), model.card().numberType(), model.card().parameters(), loaded, seconds(start));
            for (int batch : batches) {
                for (int i = 0; i < repeats; i++) {
                    GenerationResult result = generate(model, prompt, fresh, batch, profile && i > 0);
                    double decode = result.decode().toNanos() / 1e9;
                    OUT.printf(
                            "batch %2d: %8.1f tokens/s in all, %.3f ms a step, prefill of %d %.1f ms, tokens %s%n",
                            batch,
                            batch * (fresh - 1) / decode,
                            1e3 * decode / (fresh - 1),
                            prompt,
                            result.prefill().toNanos() / 1e6,
                            Arrays.toString(
                                    Arrays.copyOf(result.sequences().getFirst().tokenIds(), 8)));
                }
            }
        }
    }

    private static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    /** Batch sizes that are separated by commas. */
    static List<Integer> sizes(String text) {
        return Arrays.stream(text.split(",")).map(Integer::valueOf).toList();
    }

    /** A prompt of so many tokens, the same in every run. */
    static int[] prompt(LanguageModel model, int length) {
        int[] tokens = new int[length];
        for (int i = 0; i < length; i++) {
            tokens[i] = (int) ((7919L * i + 13) % model.card().vocabularySize());
        }
        return tokens;
    }

    private static GenerationResult generate(LanguageModel model, int prompt, int fresh, int samples, boolean profile) {
        List<Integer> counts = new ArrayList<>(List.of(0));
        GenerationRequest request = GenerationRequest.of(prompt(model, prompt), fresh, Sampling.greedy(), 1)
                .withSamples(samples)
                .withIgnoreEndTokens(true);
        if (profile) {
            request = request.withListener((sample, token, logprob, alternatives) -> {
                if (sample == 0) {
                    counts.set(0, counts.getFirst() + 1);
                    if (counts.getFirst() == 4) {
                        CudaProfiler.start();
                    } else if (counts.getFirst() == 5) {
                        CudaProfiler.stop();
                    }
                }
                return true;
            });
        }
        return model.submit(request).result().join();
    }
}
