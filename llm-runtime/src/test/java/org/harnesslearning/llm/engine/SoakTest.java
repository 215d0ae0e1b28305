package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.checkpoint.TinyCheckpoints;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ten thousand short requests in a process whose Java heap is fixed, so that what grows is native memory. */
class SoakTest {

    private static final int WARM_UP = 4_000;
    private static final int MEASURED = 10_000;
    private static final int IN_FLIGHT = 24;

    @TempDir
    private Path directory;

    @Test
    void tenThousandShortRequestsLeaveNativeMemoryFlat() throws IOException, InterruptedException {
        Path checkpoint = TinyCheckpoints.huggingFace(directory, "qwen2-untied", 1);
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xms96m",
                        "-Xmx96m",
                        "-XX:+AlwaysPreTouch",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        SoakTest.class.getName(),
                        checkpoint.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(output).isZero();
        List<Long> kilobytes = output.lines()
                .filter(line -> line.startsWith("resident "))
                .map(line -> Long.valueOf(line.substring("resident ".length())))
                .toList();
        System.out.printf("resident memory after %d and %d more requests: %s KiB%n", WARM_UP, MEASURED, kilobytes);
        assertThat(kilobytes).hasSize(2);
        assertThat(kilobytes.get(1) - kilobytes.get(0)).isLessThan(8 * 1024);
    }

    /** The process under test: its argument is the checkpoint. */
    public static void main(String[] arguments) throws IOException {
        EngineOptions options =
                EngineOptions.defaults().withSlots(4).withThreads(1).withMaxSequence(64);
        Random random = new Random(1);
        try (LanguageModel model = LanguageModel.load(Path.of(arguments[0]), options)) {
            run(model, random, WARM_UP);
            System.out.println("resident " + resident());
            run(model, random, MEASURED);
            System.out.println("resident " + resident());
        }
    }

    private static void run(LanguageModel model, Random random, int requests) {
        Deque<Generation> inFlight = new ArrayDeque<>();
        for (int i = 0; i < requests; i++) {
            Sampling sampling = random.nextBoolean()
                    ? Sampling.greedy()
                    : new Sampling(1, 0.9, 0, 1 + random.nextInt(2) * 0.1, 0, random.nextDouble(), 0);
            GenerationRequest request = GenerationRequest.of(
                            random.ints(1 + random.nextInt(20), 0, 96).toArray(), 1 + random.nextInt(6), sampling, i)
                    .withSamples(1 + random.nextInt(3))
                    .withTopLogprobs(random.nextInt(3))
                    .withListener((sample, token, logprob, alternatives) -> token != 7);
            Generation generation = model.submit(request);
            if (random.nextInt(10) == 0) {
                generation.cancel();
            }
            inFlight.add(generation);
            if (inFlight.size() == IN_FLIGHT) {
                inFlight.remove().result().join();
            }
        }
        inFlight.forEach(generation -> generation.result().join());
    }

    /** KiB of this process in memory that belong to no file. */
    private static long resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("RssAnon:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException("no RssAnon in /proc/self/status");
    }
}
