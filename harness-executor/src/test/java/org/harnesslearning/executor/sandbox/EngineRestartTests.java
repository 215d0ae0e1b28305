package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.core.DefaultDockerClientConfig;
import com.github.dockerjava.core.DockerClientConfig;
import com.github.dockerjava.core.DockerClientImpl;
import com.github.dockerjava.zerodep.ZerodepDockerHttpClient;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.testing.RequiresDocker;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * The real part of row 30 of docs/sandbox.md: a second, private Docker engine on this machine is stopped and killed under
 * running jobs. Needs root and the {@code dockerd} program; skipped with a message elsewhere.
 */
@RequiresDocker
class EngineRestartTests {
    private static final String ASK = "def run(question, env):\n    return env.llm(question)\n";
    private static final Limits LIMITS = new Limits(3, 20, 128);

    @TempDir(cleanup = CleanupMode.NEVER)
    Path folder;

    private Process start() throws Exception {
        Process engine = new ProcessBuilder(
                        "dockerd",
                        "--data-root=" + folder.resolve("data"),
                        "--exec-root=" + folder.resolve("exec"),
                        "--pidfile=" + folder.resolve("pid"),
                        "--host=unix://" + folder.resolve("sock"),
                        "--bridge=none",
                        "--iptables=false",
                        "--ip-forward=false",
                        "--ip-masq=false")
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("log").toFile())
                .start();
        try (DockerClient client = client()) {
            long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
            while (true) {
                try {
                    client.pingCmd().exec();
                    return engine;
                } catch (RuntimeException e) {
                    assertThat(engine.isAlive() && System.nanoTime() < end)
                            .as(() -> "a private dockerd starts: " + log())
                            .isTrue();
                    engine.waitFor(50, TimeUnit.MILLISECONDS);
                }
            }
        }
    }

    private String log() {
        try {
            return Files.readString(folder.resolve("log"));
        } catch (IOException e) {
            return e.toString();
        }
    }

    private DockerClient client() {
        DockerClientConfig config = DefaultDockerClientConfig.createDefaultConfigBuilder()
                .withDockerHost("unix://" + folder.resolve("sock"))
                .build();
        return DockerClientImpl.getInstance(
                config,
                new ZerodepDockerHttpClient.Builder()
                        .dockerHost(config.getDockerHost())
                        .build());
    }

    private static void stop(Process engine) throws InterruptedException {
        engine.destroy();
        assertThat(engine.waitFor(60, TimeUnit.SECONDS)).isTrue();
    }

    /**
     * Waits for the end of the engine's own manager of containers: it ends with the engine, but not at once, and an engine
     * that starts meanwhile takes it for one that can be used. Containers and their shims outlive both.
     */
    private void endManager() throws IOException {
        Path file = folder.resolve("exec/containerd/containerd.pid");
        if (!Files.exists(file)) {
            return;
        }
        Path process = Path.of("/proc", Files.readString(file).strip(), "cmdline");
        long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (runs(process)) {
            assertThat(System.nanoTime()).as("the engine's manager ends").isLessThan(end);
            Thread.yield();
        }
        Files.deleteIfExists(file);
    }

    /** Whether a process is there and no zombie, which has no command line. */
    private static boolean runs(Path commandLine) {
        try {
            return Files.readAllBytes(commandLine).length > 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** What the engine leaves of itself: its manager, mounts, and its folders. */
    private void clear(Process engine) throws Exception {
        if (engine.isAlive()) {
            stop(engine);
        }
        endManager();
        List<String> mounts;
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/mounts"))) {
            mounts = lines.map(line -> line.split(" ")[1])
                    .filter(mount -> mount.startsWith(folder.toString()))
                    .toList();
        }
        for (String mount : mounts.reversed()) {
            new ProcessBuilder("umount", mount).start().waitFor();
        }
        new ProcessBuilder("rm", "-rf", "--one-file-system", folder.toString())
                .start()
                .waitFor();
    }

    @Test
    void case_30_real_engine_stalled_stopped_and_killed_under_running_jobs() throws Exception {
        boolean root = "root".equals(System.getProperty("user.name"));
        boolean program = Stream.of("/usr/bin/dockerd", "/usr/sbin/dockerd", "/usr/local/bin/dockerd")
                .anyMatch(path -> Files.isExecutable(Path.of(path)));
        assumeTrue(root && program, "a private Docker engine needs root and dockerd on this machine");
        Process daemon = start();
        try (TestSandboxes shared = new TestSandboxes(Map.of())) {
            try (DockerClient client = client();
                    InputStream image =
                            TestSandboxes.client().saveImageCmd(shared.image()).exec()) {
                client.loadImageCmd(image).exec();
            }
            SandboxSettings settings = TestSandboxes.settings(Map.of(
                    "executor.sandbox.docker-host", "unix://" + folder.resolve("sock"),
                    "executor.sandbox.control-timeout", "10s",
                    "executor.sandbox.clock-grace", "2s"));
            try (DockerEngine engine = DockerEngine.connect(settings, Clock.systemUTC(), "test");
                    DockerSandboxes sandboxes = TestSandboxes.sandboxes(engine, shared.image(), settings, 1)) {
                assertThat(SelfCheck.run(engine, shared.image(), settings).gaps())
                        .isEmpty();
                works(sandboxes);
                Footprint footprint = new Footprint(settings.owner());
                stalls(daemon, engine, sandboxes);
                for (boolean killed : new boolean[] {false, true}) {
                    works(sandboxes);
                    try (HarnessSandbox sandbox = sandboxes.open("under way", ASK, LIMITS)) {
                        Process running = daemon;
                        SandboxResult result = sandbox.ask("q", request -> {
                            if (killed) {
                                running.destroyForcibly();
                            } else {
                                running.destroy();
                            }
                            assertThat(running.waitFor(60, TimeUnit.SECONDS)).isTrue();
                            return new Broker.Answer.Reply("too late");
                        });
                        assertThat(result).as("killed: %s", killed).isInstanceOf(SandboxResult.SandboxFault.class);
                        assertThat(sandbox.usable()).isFalse();
                    }
                    assertThat(engine.healthy()).isFalse();
                    assertThat(engine.quarantined()).isPositive();
                    assertThatThrownBy(() -> sandboxes.open("while away", ASK, LIMITS))
                            .isInstanceOf(SandboxFaultException.class);
                    endManager();
                    daemon = start();
                    works(sandboxes);
                    // What the reaper does from time to time; after it, only the refilled pool's member is there.
                    await(() -> {
                        engine.removeQuarantined();
                        engine.removeLeftovers(Set.of(engine.instance()));
                        return sandboxes.idle() == 1 && engine.containers() == 1 && engine.quarantined() == 0;
                    });
                    try (DockerClient client = client()) {
                        assertThat(client.listContainersCmd().withShowAll(true).exec())
                                .singleElement()
                                .satisfies(
                                        member -> assertThat(member.getState()).isEqualTo("running"));
                    }
                }
                footprint.assertNothingLeft();
                footprint.close();
            }
        } finally {
            clear(daemon);
        }
    }

    /** The engine's process is stopped under a question, and goes on later: no answer, no end and no time-out comes through. */
    private static void stalls(Process daemon, DockerEngine engine, DockerSandboxes sandboxes) throws Exception {
        works(sandboxes);
        try (HarnessSandbox sandbox = sandboxes.open("under way", ASK, new Limits(3, 1, 128))) {
            SandboxResult result = sandbox.ask("q", request -> {
                signal(daemon, "STOP");
                return new Broker.Answer.Reply("too late");
            });
            assertThat(result)
                    .isInstanceOfSatisfying(
                            SandboxResult.SandboxFault.class,
                            fault -> assertThat(fault.ownEnd()).isFalse());
            assertThat(sandbox.usable()).isFalse();
        } finally {
            signal(daemon, "CONT");
        }
        works(sandboxes);
        await(() -> {
            engine.removeQuarantined();
            return sandboxes.idle() == 1 && engine.containers() == 1 && engine.quarantined() == 0;
        });
    }

    private static void signal(Process process, String name) {
        try {
            int status = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                    .start()
                    .waitFor();
            assertThat(status).isZero();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void await(BooleanSupplier condition) {
        long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited too long").isLessThan(end);
            Thread.yield();
        }
    }

    private static void works(DockerSandboxes sandboxes) throws InterruptedException {
        try (HarnessSandbox sandbox = sandboxes.open("fine", ASK, LIMITS)) {
            assertThat(sandbox.ask("q", request -> new Broker.Answer.Reply("fine")))
                    .isInstanceOf(SandboxResult.Completed.class);
        }
    }
}
