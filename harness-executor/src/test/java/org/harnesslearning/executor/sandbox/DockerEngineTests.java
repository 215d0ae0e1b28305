package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.model.HostConfig;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import org.harnesslearning.contracts.trace.WorkContext;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.testing.LogLines;
import org.harnesslearning.testing.RequiresDocker;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@RequiresDocker
class DockerEngineTests {
    private static void await(BooleanSupplier condition) {
        long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited too long").isLessThan(end);
            Thread.yield();
        }
    }

    private static boolean running(String id) {
        return Boolean.TRUE.equals(
                TestSandboxes.client().inspectContainerCmd(id).exec().getState().getRunning());
    }

    @Test
    void a_container_has_the_whole_hardened_set() throws InterruptedException {
        try (TestSandboxes docker = new TestSandboxes(Map.of());
                SandboxContainer container = docker.engine()
                        .start(new ContainerSpec(docker.image(), "adp_1/r1", 64, Map.of("PYTHONHASHSEED", "0")))) {
            InspectContainerResponse made =
                    TestSandboxes.client().inspectContainerCmd(container.id()).exec();
            HostConfig host = made.getHostConfig();
            assertThat(host.getNetworkMode()).isEqualTo("none");
            assertThat(host.getIpcMode()).isEqualTo("none");
            assertThat(host.getReadonlyRootfs()).isTrue();
            assertThat(host.getCapDrop()).extracting(Enum::name).containsExactly("ALL");
            assertThat(host.getSecurityOpts()).containsExactly("no-new-privileges:true");
            assertThat(host.getPidsLimit()).isEqualTo(64);
            assertThat(host.getMemory()).isEqualTo(64L << 20);
            assertThat(host.getMemorySwap()).isEqualTo(host.getMemory());
            assertThat(host.getNanoCPUs()).isEqualTo(1_000_000_000L);
            assertThat(host.getLogConfig().getType().getType()).isEqualTo("none");
            assertThat(host.getBinds()).isNullOrEmpty();
            assertThat(host.getPrivileged()).isFalse();
            assertThat(made.getConfig().getUser()).isEqualTo("65534:65534");
            assertThat(made.getConfig().getEnv()).contains("PYTHONHASHSEED=0");
            assertThat(made.getConfig().getLabels())
                    .containsEntry(
                            "org.harnesslearning.owner", docker.settings().owner())
                    .containsEntry("org.harnesslearning.job", "adp_1/r1")
                    .containsKeys("org.harnesslearning.instance", "org.harnesslearning.deadline");
        }
    }

    @Test
    void nothing_is_left_of_a_container_that_does_not_get_ready() {
        try (TestSandboxes docker = new TestSandboxes(Map.of("executor.sandbox.start-timeout", "1ms"))) {
            assertThatThrownBy(() -> docker.engine().start(new ContainerSpec(docker.image(), "job", 64)))
                    .isInstanceOf(SandboxFaultException.class)
                    .hasMessageContaining("did not get ready");
            assertThatThrownBy(() -> docker.engine().start(new ContainerSpec("no-such-image:1", "job", 64)))
                    .isInstanceOf(SandboxFaultException.class)
                    .hasMessageContaining("no-such-image:1");
            assertThat(docker.containers()).isEmpty();
            assertThat(docker.engine().containers()).isZero();
        }
    }

    @Test
    void leftovers_go_by_who_lives_and_past_their_deadline() throws InterruptedException {
        try (TestSandboxes lost = new TestSandboxes(Map.of());
                TestSandboxes sibling = new TestSandboxes(
                        Map.of("executor.sandbox.owner", lost.settings().owner()));
                TestSandboxes stranger = new TestSandboxes(Map.of())) {
            SandboxContainer left = lost.engine().start(new ContainerSpec(lost.image(), "left", 64));
            SandboxContainer live = sibling.engine().start(new ContainerSpec(lost.image(), "live", 64));
            SandboxContainer foreign = stranger.engine().start(new ContainerSpec(lost.image(), "foreign", 64));
            // What the kernel does to the connections of a killed process; the container ends by itself.
            left.streams().shut();
            await(() -> !running(left.id()));
            Set<String> living = Set.of(sibling.engine().instance());
            String next = "an executor that starts now";

            // Another database's executors are not judged by this one's.
            assertThat(reap(lost, Duration.ZERO, "elsewhere", living)).isZero();
            // While nobody can say who lives, everything stays.
            assertThat(reap(lost, Duration.ZERO, "test", null)).isZero();
            assertThat(reap(lost, Duration.ZERO, "test", living)).as(next).isEqualTo(1);
            assertThat(lost.containers()).containsExactly(live.id());
            assertThat(running(live.id())).isTrue();
            assertThat(reap(lost, Duration.ofHours(7), "test", living))
                    .as("a living executor's, however old")
                    .isZero();
            assertThat(reap(lost, Duration.ofHours(7), "elsewhere", Set.of()))
                    .as("another database's, past the deadline")
                    .isEqualTo(1);
            assertThat(lost.containers()).isEmpty();
            assertThat(running(foreign.id())).as("another owner's").isTrue();
            left.close();
            live.close();
            foreign.close();
        }
    }

    @Test
    void a_leftover_of_a_run_goes_in_the_name_of_that_run() throws InterruptedException {
        try (TestSandboxes lost = new TestSandboxes(Map.of());
                LogLines lines = new LogLines(DockerEngine.class.getName())) {
            SandboxContainer left;
            try (WorkContext.Fields _ = WorkContext.named("adp_1", null)) {
                left = lost.engine().start(new ContainerSpec(lost.image(), "adp_1/r1", 64));
            }
            SandboxContainer pooled = lost.engine().start(new ContainerSpec(lost.image(), "pool", 64));
            assertThat(reap(lost, Duration.ZERO, "test", Set.of())).isEqualTo(2);
            assertThat(lines.with("removing the leftover"))
                    .extracting(
                            line -> line.getFormattedMessage().replaceAll(".* of ", ""),
                            line -> line.getMDCPropertyMap().get(WorkContext.RUN))
                    .containsExactlyInAnyOrder(tuple("adp_1/r1", "adp_1"), tuple("pool", null));
            left.close();
            pooled.close();
        }
    }

    private static int reap(TestSandboxes of, Duration later, String registry, @Nullable Set<String> living) {
        Clock clock = Clock.offset(Clock.systemUTC(), later);
        try (DockerEngine engine = DockerEngine.connect(of.settings(), clock, registry)) {
            return engine.removeLeftovers(living);
        }
    }

    @Test
    void a_container_that_is_being_started_when_all_ends_is_removed_too() throws Exception {
        for (int round = 0; round < 3; round++) {
            TestSandboxes docker = new TestSandboxes(Map.of());
            List<Thread> jobs = new ArrayList<>();
            CountDownLatch begun = new CountDownLatch(4);
            for (int job = 0; job < 4; job++) {
                jobs.add(Thread.ofVirtual().start(() -> {
                    try {
                        while (true) {
                            begun.countDown();
                            docker.engine()
                                    .start(new ContainerSpec(docker.image(), "job", 64))
                                    .close();
                        }
                    } catch (SandboxFaultException | InterruptedException e) {
                        // The engine's connections are closed.
                    }
                }));
            }
            begun.await();
            docker.close();
            for (Thread job : jobs) {
                job.join();
            }
            // The engine may still be at a removal that a job asked for.
            await(() -> docker.containers().isEmpty());
        }
    }

    @Test
    void an_engine_that_stalls_is_given_up_on_in_bounded_time(@TempDir Path folder) throws IOException {
        UnixDomainSocketAddress file = UnixDomainSocketAddress.of(folder.resolve("sock"));
        // A listening socket takes connections without anyone answering on them.
        try (ServerSocket stalling = new ServerSocket(0);
                ServerSocketChannel local =
                        ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(file)) {
            assertThat(local.isOpen()).isTrue();
            for (String host : List.of("tcp://127.0.0.1:" + stalling.getLocalPort(), "unix://" + file.getPath())) {
                SandboxSettings settings = TestSandboxes.settings(
                        Map.of("executor.sandbox.docker-host", host, "executor.sandbox.control-timeout", "300ms"));
                assertThatThrownBy(() -> DockerEngine.connect(settings, Clock.systemUTC(), "test"))
                        .isInstanceOf(DockerUnavailableException.class)
                        .hasMessageContaining("No Docker engine answers at " + host);
            }
        }
    }

    @Test
    void an_image_is_named_by_a_setting_or_built_by_its_script(@TempDir Path folder) throws IOException {
        try (TestSandboxes docker = new TestSandboxes(Map.of())) {
            Path script = folder.resolve("build.sh");
            Duration most = Duration.ofSeconds(20);
            assertThatThrownBy(() -> ImageBuild.resolve(docker.engine(), "absent:1", script, most, "some.image"))
                    .isInstanceOf(DockerUnavailableException.class)
                    .hasMessageContainingAll("absent:1", "some.image");
            assertThatThrownBy(() -> ImageBuild.resolve(docker.engine(), null, script, most, "some.image"))
                    .hasMessageContainingAll("some.image", "build.sh");
            Files.writeString(script, "echo working >&2; echo step; echo name:1");
            assertThat(ImageBuild.resolve(docker.engine(), null, script, most, "some.image"))
                    .isEqualTo("name:1");
            Files.writeString(script, "echo no disk left >&2; exit 3");
            assertThatThrownBy(() -> ImageBuild.resolve(docker.engine(), null, script, most, "some.image"))
                    .hasMessageContainingAll("exit code 3", "no disk left");
            Files.writeString(script, "sleep 60");
            assertThatThrownBy(() ->
                            ImageBuild.resolve(docker.engine(), null, script, Duration.ofMillis(200), "some.image"))
                    .hasMessageContaining("takes longer");
        }
    }

    @Test
    void an_image_is_built_at_the_engine_that_the_settings_name(@TempDir Path folder) throws IOException {
        Path script = Files.writeString(folder.resolve("build.sh"), "echo \"built at $DOCKER_HOST\"");
        try (FakeEngine fake = new FakeEngine();
                DockerEngine engine = DockerEngine.connect(
                        TestSandboxes.settings(Map.of("executor.sandbox.docker-host", fake.host())),
                        Clock.systemUTC(),
                        "test")) {
            assertThat(ImageBuild.resolve(engine, null, script, Duration.ofSeconds(20), "some.image"))
                    .isEqualTo("built at " + fake.host());
        }
    }
}
