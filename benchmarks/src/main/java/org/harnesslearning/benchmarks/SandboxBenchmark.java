package org.harnesslearning.benchmarks;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.executor.sandbox.AdmissionSettings;
import org.harnesslearning.executor.sandbox.Broker;
import org.harnesslearning.executor.sandbox.DockerEngine;
import org.harnesslearning.executor.sandbox.DockerSandboxes;
import org.harnesslearning.executor.sandbox.HarnessSandbox;
import org.harnesslearning.executor.sandbox.ImageBuild;
import org.harnesslearning.executor.sandbox.PoolSettings;
import org.harnesslearning.executor.sandbox.SandboxResult;
import org.harnesslearning.executor.sandbox.SandboxSettings;
import org.harnesslearning.executor.sandbox.SelfCheck;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/**
 * Questions through the sandbox with a harness that does nothing, and beside it, in the same run, a container for every
 * question with {@code docker run} under the same limits.
 *
 * <p>Arguments: jobs at once (2), the script that builds the image. Processor time is that of the whole machine while the
 * jobs ran, engine and benchmark included, so that a busy machine shows in the figures.
 */
public final class SandboxBenchmark {
    private static final PrintStream OUT = System.out;
    private static final String HARNESS = "def run(question, env):\n    return question\n";
    private static final int POOL = 4;

    private final DockerSandboxes sandboxes;
    private final String image;
    private final int width;

    private SandboxBenchmark(DockerSandboxes sandboxes, String image, int width) {
        this.sandboxes = sandboxes;
        this.image = image;
        this.width = width;
    }

    public static void main(String[] arguments) throws Exception {
        int width = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 2;
        Path script = Path.of(arguments.length > 1 ? arguments[1] : "harness-executor/sandbox-image/build.sh");
        Binder binder = new Binder(new MapConfigurationPropertySource(
                Map.of("executor.sandbox.owner", "benchmark-" + UUID.randomUUID(), "executor.pool.size", POOL)));
        SandboxSettings settings =
                binder.bind("executor.sandbox", SandboxSettings.class).get();
        PoolSettings pool = binder.bind("executor.pool", PoolSettings.class).get();
        AdmissionSettings admission = binder.bindOrCreate("executor.admission", AdmissionSettings.class);
        try (DockerEngine engine = DockerEngine.connect(settings, Clock.systemUTC(), "benchmark")) {
            String image = ImageBuild.resolve(engine, null, script, Duration.ofMinutes(15), "executor.sandbox.image");
            try (DockerSandboxes sandboxes = new DockerSandboxes(
                    engine, image, settings, new SelfCheck(Set.of()), pool, admission, new SimpleMeterRegistry())) {
                new SandboxBenchmark(sandboxes, image, width).run();
            }
        }
    }

    private void run() throws Exception {
        jobs("warm-up", 12, 200);
        firstAnswers(12);
        jobs("jobs of 200", 16, 200);
        jobs("jobs of 12", 16, 12);
        dockerRun(10);
    }

    private void awaitPool() throws InterruptedException {
        while (sandboxes.idle() < POOL) {
            Thread.sleep(20);
        }
    }

    /** From the order to the first answer, each from a full pool on an otherwise idle platform. */
    private void firstAnswers(int count) throws InterruptedException {
        double[] ms = new double[count];
        for (int i = 0; i < count; i++) {
            awaitPool();
            long start = System.nanoTime();
            HarnessSandbox sandbox = sandboxes.open("first", HARNESS, Limits.DEFAULTS);
            answer(sandbox, "first");
            ms[i] = (System.nanoTime() - start) / 1e6;
            sandbox.close();
        }
        Arrays.sort(ms);
        OUT.printf(
                "first answer from a warm pool: median %.1f ms, most %.1f ms of %d%n",
                ms[count / 2], ms[count - 1], count);
    }

    private void jobs(String name, int count, int questions) throws Exception {
        awaitPool();
        long busy = busyMs();
        long own = ownMs();
        long start = System.nanoTime();
        try (ExecutorService threads = Executors.newFixedThreadPool(width)) {
            List<Future<Void>> jobs = new ArrayList<>();
            for (int job = 0; job < count; job++) {
                jobs.add(threads.submit(() -> {
                    job(questions);
                    return null;
                }));
            }
            for (Future<Void> job : jobs) {
                job.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException("a job failed", e);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        OUT.printf(
                "%s, %d at once: %d jobs in %.2f s, %.1f questions/s, %.2f jobs/s,"
                        + " %.2f ms of processor time a question, %.2f of them in this process%n",
                name,
                width,
                count,
                seconds,
                count * questions / seconds,
                count / seconds,
                (double) (busyMs() - busy) / (count * questions),
                (double) (ownMs() - own) / (count * questions));
    }

    private void job(int questions) throws InterruptedException {
        try (HarnessSandbox sandbox = sandboxes.open("benchmark", HARNESS, Limits.DEFAULTS)) {
            for (int i = 0; i < questions; i++) {
                answer(sandbox, "question " + i);
            }
        }
    }

    private static void answer(HarnessSandbox sandbox, String question) throws InterruptedException {
        SandboxResult result = sandbox.ask(question, request -> new Broker.Answer.Reply(""));
        if (!(result instanceof SandboxResult.Completed completed)
                || !completed.answer().equals(question)) {
            throw new IllegalStateException("no answer: " + result);
        }
    }

    /** The peer: a fresh container with the same limits for every question. */
    private void dockerRun(int count) throws IOException, InterruptedException {
        List<String> command = List.of(
                "docker",
                "run",
                "--rm",
                "--network",
                "none",
                "--ipc",
                "none",
                "--read-only",
                "--cap-drop",
                "ALL",
                "--security-opt",
                "no-new-privileges:true",
                "--pids-limit",
                "64",
                "--memory",
                "256m",
                "--memory-swap",
                "256m",
                "--cpus",
                "1",
                "--ulimit",
                "nofile=256",
                "--tmpfs",
                "/tmp:size=16m,mode=0700,uid=65534",
                "--log-driver",
                "none",
                "--user",
                "65534:65534",
                "--entrypoint",
                "python3",
                image,
                "-I",
                "-S",
                "-c",
                HARNESS + "print(run('question', None))");
        long start = System.nanoTime();
        for (int i = 0; i < count; i++) {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new IllegalStateException("docker run failed: " + output);
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        OUT.printf(
                "docker run for every question, one at a time: %.2f questions/s, %.0f ms each%n",
                count / seconds, seconds * 1000 / count);
    }

    private static long ownMs() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .orElse(Duration.ZERO)
                .toMillis();
    }

    /** Processor time of this machine that was not idle, in milliseconds; 0 where that can't be read. */
    private static long busyMs() throws IOException {
        Path stat = Path.of("/proc/stat");
        if (!Files.isReadable(stat)) {
            return 0;
        }
        String[] fields = Files.readAllLines(stat).getFirst().trim().split(" +");
        long ticks = 0;
        for (int i = 1; i < fields.length; i++) {
            ticks += i == 4 || i == 5 || i > 8 ? 0 : Long.parseLong(fields[i]); // idle, waiting, guests
        }
        return ticks * 10;
    }
}
