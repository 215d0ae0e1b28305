package org.harnesslearning.benchmarks;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.GenerationResult;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.MatrixKernels;
import org.harnesslearning.llm.Sampling;

/**
 * Prefill and decode speed of a checkpoint on this machine.
 *
 * <p>Arguments: checkpoint, prompt tokens (512), new tokens (64), then batch sizes (1 4 8). The property {@code kernels}
 * ({@code onnx}, {@code auto}, {@code ggml}) says who multiplies. Prompts are random tokens, so that nothing is reused between them. Wall-clock
 * and processor time are both shown: on a busy machine the second is the steadier one.
 */
public final class DecodeBenchmark {

    private static final PrintStream OUT = System.out;

    private DecodeBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 0) {
            OUT.println("usage: DecodeBenchmark CHECKPOINT [PROMPT_TOKENS [NEW_TOKENS [BATCH ...]]]");
            return;
        }
        int prompt = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 512;
        int fresh = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 64;
        List<Integer> batches = arguments.length > 3
                ? Arrays.stream(arguments).skip(3).map(Integer::valueOf).toList()
                : List.of(1, 4, 8);
        EngineOptions options = EngineOptions.defaults()
                .withSlots(batches.stream().mapToInt(Integer::intValue).max().orElse(1))
                .withMaxSequence(Math.max(1024, prompt + fresh))
                .withMatrixKernels(MatrixKernels.valueOf(
                        System.getProperty("kernels", "auto").toUpperCase(Locale.ROOT)));
        long start = System.nanoTime();
        try (LanguageModel model = LanguageModel.load(Path.of(arguments[0]), options)) {
            OUT.printf(
                    "%s: %s, %,d parameters, loaded in %.1f s, %s%n",
                    model.card().name(),
                    model.card().numberType(),
                    model.card().parameters(),
                    (System.nanoTime() - start) / 1e9,
                    resident());
            generate(model, 8, 4, 1, 99); // warm-up
            for (int batch : batches) {
                report(model, prompt, fresh, batch);
            }
            OUT.println(resident());
        }
    }

    private static void report(LanguageModel model, int prompt, int fresh, int batch) {
        long cpu = processorNanos();
        long start = System.nanoTime();
        GenerationResult first = generate(model, prompt, 1, 1, batch).getFirst();
        double seconds = (System.nanoTime() - start) / 1e9;
        OUT.printf(
                "prefill %d tokens: %.1f tokens/s (%.2f processor ms a token)%n",
                first.promptTokens(), prompt / seconds, (processorNanos() - cpu) / 1e6 / prompt);
        // The samples share this prompt's prefill, so what is timed is decoding at this context length.
        cpu = processorNanos();
        List<GenerationResult> results = generate(model, prompt, fresh, batch, batch);
        double decode = results.getFirst().decode().toNanos() / 1e9;
        OUT.printf(
                "decode batch %d at context %d: %.1f tokens/s in all, %.1f ms a step (%.1f processor ms)%n",
                batch,
                prompt,
                batch * (fresh - 1) / decode,
                1e3 * decode / (fresh - 1),
                (processorNanos() - cpu) / 1e6 / (fresh - 1));
    }

    private static List<GenerationResult> generate(LanguageModel model, int prompt, int fresh, int samples, int seed) {
        int[] tokens =
                new Random(seed).ints(prompt, 0, model.card().vocabularySize()).toArray();
        List<Generation> generations = new ArrayList<>();
        generations.add(model.submit(GenerationRequest.of(tokens, fresh, Sampling.ofTemperature(1), seed)
                .withSamples(samples)
                .withIgnoreEndTokens(true)));
        return generations.stream().map(g -> g.result().join()).toList();
    }

    private static long processorNanos() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.OperatingSystemMXBean system
                ? system.getProcessCpuTime()
                : 0;
    }

    private static String resident() throws IOException {
        Path status = Path.of("/proc/self/status");
        if (!Files.exists(status)) {
            return "";
        }
        return Files.readAllLines(status).stream()
                .filter(line -> line.startsWith("VmHWM") || line.startsWith("VmRSS") || line.startsWith("RssAnon"))
                .map(line -> line.replaceAll("\\s+", " "))
                .reduce("", (a, b) -> a + b + "; ");
    }
}
