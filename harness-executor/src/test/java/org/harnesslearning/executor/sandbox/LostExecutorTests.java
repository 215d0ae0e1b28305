package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Row 31 of docs/sandbox.md: an executor is killed with its jobs running, and started again. */
@RequiresDocker
@RequiresPostgres
class LostExecutorTests {
    private static final int JOBS = 20;
    private static final String FINE = "def run(question, env):\n    return env.llm(question)\n";

    private final String owner = "test-" + UUID.randomUUID();

    @Test
    void case_31_executor_killed_with_twenty_running_jobs() throws Exception {
        String url = TestPostgres.jdbcUrl(TestPostgres.createDatabase());
        Heartbeats heartbeats = LostExecutor.heartbeats(url);
        try (TestSandboxes images = new TestSandboxes(Map.of("executor.sandbox.owner", owner));
                Footprint footprint = new Footprint(owner)) {
            SandboxSettings settings = TestSandboxes.settings(Map.of("executor.sandbox.owner", owner));
            try (DockerEngine sibling = DockerEngine.connect(settings, Clock.systemUTC(), heartbeats.registry());
                    Reaper alive = Reaper.start(sibling, heartbeats, LostExecutor.SETTINGS);
                    DockerSandboxes its = TestSandboxes.sandboxes(sibling, images.image(), settings);
                    HarnessSandbox live = its.open("live", FINE, new Limits(3, 5, 64))) {
                List<String> siblings = TestSandboxes.containersOf(owner);
                Process lost = start(url, owner, images.image());
                try (BufferedReader out =
                        new BufferedReader(new InputStreamReader(lost.getInputStream(), StandardCharsets.UTF_8))) {
                    String line = out.readLine();
                    while (line != null && !line.equals("running")) {
                        line = out.readLine();
                    }
                    assertThat(line).isEqualTo("running");
                    assertThat(TestSandboxes.containersOf(owner)).hasSize(JOBS + 2 + siblings.size());
                } finally {
                    lost.destroyForcibly(); // SIGKILL
                    assertThat(lost.waitFor(20, TimeUnit.SECONDS)).isTrue();
                }
                try (DockerEngine again = DockerEngine.connect(settings, Clock.systemUTC(), heartbeats.registry());
                        Reaper reaper = Reaper.start(again, heartbeats, LostExecutor.SETTINGS)) {
                    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
                    while (!TestSandboxes.containersOf(owner).equals(siblings)) {
                        assertThat(System.nanoTime()).as("waited too long").isLessThan(end);
                        Thread.yield();
                    }
                    // A reaper counts when it is through with its round.
                    await().atMost(30, TimeUnit.SECONDS).until(() -> reaper.removed() + alive.removed() >= JOBS + 2);
                    try (DockerSandboxes restarted = TestSandboxes.sandboxes(again, images.image(), settings);
                            HarnessSandbox next = restarted.open("next", FINE, new Limits(3, 5, 64))) {
                        assertThat(next.ask("next", request -> new Broker.Answer.Reply("fine")))
                                .isInstanceOfSatisfying(
                                        SandboxResult.Completed.class,
                                        completed ->
                                                assertThat(completed.answer()).isEqualTo("fine"));
                    }
                }
                assertThat(live.ask("still here", request -> new Broker.Answer.Reply("yes")))
                        .isInstanceOfSatisfying(
                                SandboxResult.Completed.class,
                                completed -> assertThat(completed.answer()).isEqualTo("yes"));
            }
            assertThat(TestSandboxes.containersOf(owner)).isEmpty();
            assertThat(footprint.made()).hasSize(JOBS + 2 + 1 + 1);
            footprint.assertNothingLeft();
        }
    }

    /** Whatever a failed assertion left of the killed process. */
    @AfterEach
    void clearAway() {
        TestSandboxes.containersOf(owner)
                .forEach(id -> TestSandboxes.client()
                        .removeContainerCmd(id)
                        .withForce(true)
                        .exec());
    }

    private static Process start(String url, String owner, String image) throws Exception {
        String classes = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        classes,
                        LostExecutor.class.getName(),
                        url,
                        owner,
                        image,
                        Integer.toString(JOBS))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }
}
