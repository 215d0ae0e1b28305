package org.harnesslearning.benchmarks;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.harnesslearning.llm.Device;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.NumberType;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.cuda.CudaDevice;

/**
 * Whether many short requests of different shapes leave the memory of a GPU and of the process flat.
 *
 * <p>Arguments: checkpoint, requests (10,000). Prompts have 1 to 400 tokens, replies 1 to 16; every fourth request has a
 * repetition penalty, every eighth three samples.
 */
public final class GpuSoak {

    private static final PrintStream OUT = System.out;
    private static final int IN_FLIGHT = 48;

    private GpuSoak() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 0) {
            OUT.println("usage: GpuSoak CHECKPOINT [REQUESTS]");
            return;
        }
        int requests = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 10_000;
        EngineOptions options =
                EngineOptions.defaults().withSlots(32).withMaxSequence(512).withDevice(Device.cuda(0), NumberType.AUTO);
        Random random = new Random(1);
        try (LanguageModel model = LanguageModel.load(Path.of(arguments[0]), options);
                CudaDevice device = CudaDevice.open(0)) {
            Deque<Generation> running = new ArrayDeque<>();
            for (int i = 0; i < requests; i++) {
                int[] prompt = random.ints(
                                random.nextInt(1, 401), 0, model.card().vocabularySize())
                        .toArray();
                Sampling sampling = i % 4 == 0 ? new Sampling(0, 1, 0, 1.1) : Sampling.greedy();
                running.add(model.submit(GenerationRequest.of(prompt, random.nextInt(1, 17), sampling, i)
                        .withIgnoreEndTokens(true)
                        .withSamples(i % 8 == 0 ? 3 : 1)));
                if (running.size() == IN_FLIGHT) {
                    running.pop().result().join();
                }
                if ((i + 1) % Math.max(1, requests / 10) == 0) {
                    OUT.printf(
                            "%,7d requests: %,d MiB of the GPU free, process %s%n",
                            i + 1, device.freeBytes() >> 20, resident());
                }
            }
            running.forEach(generation -> generation.result().join());
            OUT.println(model.statistics());
        }
    }

    private static String resident() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS") || line.startsWith("RssAnon"))
                .map(line -> line.replaceAll("\\s+", " "))
                .reduce("", (a, b) -> a + b + "; ");
    }
}
