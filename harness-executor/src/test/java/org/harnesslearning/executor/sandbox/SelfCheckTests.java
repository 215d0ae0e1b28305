package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.SolverSettings;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.contracts.web.InternalSecretFilter;
import org.harnesslearning.executor.ExecutorApplication;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.tasks.Scorers;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import tools.jackson.databind.JsonNode;

/** What becomes of facts that a host shows; the facts come from a fake engine's container. */
@RequiresPostgres
@ExtendWith(OutputCaptureExtension.class)
class SelfCheckTests {
    /**
     * A runner that answers probes as on a sound host with cgroup v2, but for one fact, and everything else as
     * {@link FakeEngine#FINE} does.
     *
     * @param memory outcome for the process that takes too much memory; null: the container ends in place of it
     */
    static FakeEngine.Runner probed(String fact, @Nullable Object value, int processes, @Nullable String memory) {
        Map<String, @Nullable Object> changes = new HashMap<>();
        changes.put(fact, value);
        return probed(changes, processes, bytes -> memory);
    }

    /** The same with several other facts; the outcome for the process that takes memory depends on how much it takes. */
    private static FakeEngine.Runner probed(
            Map<String, @Nullable Object> changes, int processes, LongFunction<@Nullable String> memory) {
        Map<String, @Nullable Object> facts = new HashMap<>(Map.of(
                "python",
                "3.11.2",
                "kernel",
                FakeEngine.KERNEL,
                "cgroup",
                2,
                "memory",
                "67108864",
                "swap",
                "0",
                "pids",
                "64",
                "host_swap",
                1 << 30,
                "interfaces",
                List.of("lo"),
                "reached",
                List.of()));
        facts.putAll(Map.of(
                "capabilities",
                "0".repeat(16),
                "no_new_privs",
                1,
                "seccomp",
                2,
                "seccomp_filters",
                3,
                "engine_filtered",
                true,
                "uid",
                65534,
                "gid",
                65534,
                "writable_root",
                List.of(),
                "opened",
                List.of(),
                "unfiltered",
                List.of()));
        facts.putAll(changes);
        return (in, out) -> {
            out.frame(Map.of("type", "ready"));
            while (true) {
                JsonNode frame = FakeEngine.read(in);
                switch (frame.path("what").asString("")) {
                    case "facts" -> out.frame(Map.of("type", "probed", "outcome", "completed", "facts", facts));
                    case "processes" -> out.frame(Map.of("type", "probed", "outcome", "completed", "facts", processes));
                    case "memory" -> {
                        String outcome = memory.apply(frame.path("count").asLong());
                        if (outcome == null) {
                            return 137;
                        }
                        out.frame(Map.of("type", "probed", "outcome", outcome));
                    }
                    default -> FakeEngine.answer(frame, out);
                }
            }
        };
    }

    private static List<String> gaps(FakeEngine.Runner runner, Map<String, Object> more)
            throws IOException, InterruptedException {
        try (FakeEngine fake = new FakeEngine()) {
            Map<String, Object> changes = new HashMap<>(more);
            changes.put("executor.sandbox.docker-host", fake.host());
            SandboxSettings settings = TestSandboxes.settings(changes);
            fake.runner(runner);
            try (DockerEngine engine = DockerEngine.connect(settings, Clock.systemUTC(), "test")) {
                return SelfCheck.run(engine, "image", settings).names();
            } finally {
                assertThat(fake.left()).isEmpty();
            }
        }
    }

    private static List<String> accepted(String gap, FakeEngine.Runner runner) throws Exception {
        assertThatThrownBy(() -> gaps(runner, Map.of()))
                .isInstanceOf(UnsafeHostException.class)
                .hasMessageContaining(gap + ": ");
        return gaps(runner, Map.of("executor.sandbox.accepted-gaps", gap));
    }

    @Test
    void every_protection_is_missed_by_its_own_fact_and_accepted_by_its_own_name() throws Exception {
        assertThat(gaps(probed("uid", 65534, 60, "out_of_memory"), Map.of())).isEmpty();
        List<List<Object>> rows = List.of(
                List.of("SWAP_LIMIT", "swap", "max"),
                List.of("SWAP_LIMIT", "swap", "1048576"),
                List.of("NETWORK", "interfaces", List.of("eth0", "lo")),
                List.of("NETWORK", "reached", List.of("192.0.2.1")),
                List.of("CAPABILITIES", "capabilities", "0000000000000000 00000000a80425fb"),
                List.of("NO_NEW_PRIVILEGES", "no_new_privs", 0),
                List.of("SECCOMP", "seccomp_filters", 2),
                List.of("SYSCALL_FILTER", "unfiltered", List.of("io_uring_setup")),
                List.of("READ_ONLY_ROOT", "writable_root", List.of("/etc")),
                List.of("UNPRIVILEGED_USER", "uid", 0),
                List.of("RUNNER_CLOSED", "opened", List.of("/proc/1/fd/0")));
        List<String> seen = new ArrayList<>();
        for (List<Object> row : rows) {
            String gap = (String) row.getFirst();
            assertThat(accepted(gap, probed((String) row.get(1), row.get(2), 60, "out_of_memory")))
                    .containsExactly(gap);
            seen.add(gap);
        }
        assertThat(accepted("PIDS_LIMIT", probed("uid", 65534, 64, "out_of_memory")))
                .containsExactly("PIDS_LIMIT");
        assertThat(accepted("MEMORY_LIMIT", probed("uid", 65534, 60, "crashed")))
                .containsExactly("MEMORY_LIMIT");
        seen.addAll(List.of("PIDS_LIMIT", "MEMORY_LIMIT"));
        for (Protection protection : Protection.values()) {
            assertThat(seen).contains(protection.name());
        }
    }

    @Test
    void what_other_hosts_and_runtimes_show_is_understood() throws Exception {
        // cgroup v1 without accounting of swap, on a host without any.
        Map<String, Object> none = Map.of();
        FakeEngine.Runner noSwap = probed("host_swap", 0, 60, "out_of_memory");
        assertThat(gaps(noSwap, none)).isEmpty();
        // cgroup v1 of an engine that limits nothing, on a host without any.
        assertThat(gaps(probed(Map.of("swap", "max", "host_swap", 0), 60, bytes -> "out_of_memory"), none))
                .isEmpty();
        // A runtime whose whole container ends where one process should.
        assertThat(gaps(probed("seccomp_filters", null, 60, null), none)).isEmpty();
    }

    @Test
    void a_kernel_of_its_own_can_not_say_that_nothing_is_swapped_but_must_show_it() throws Exception {
        Map<String, @Nullable Object> facts = new HashMap<>(Map.of("kernel", "4.19.0-gvisor", "host_swap", 0));
        facts.put("swap", null);
        facts.put("seccomp_filters", null);
        assertThat(gaps(probed(facts, 61, bytes -> null), Map.of("executor.sandbox.pids", 512)))
                .isEmpty();
        // Whoever takes as much as its limit beside all else of the container, and lives, was swapped out in part.
        FakeEngine.Runner swapping = probed(facts, 61, bytes -> bytes > 64 << 20 ? null : "crashed");
        assertThat(accepted("SWAP_LIMIT", swapping)).containsExactly("SWAP_LIMIT");
    }

    @Test
    void an_engines_filter_that_is_not_counted_is_told_by_what_it_denies() throws Exception {
        Map<String, @Nullable Object> facts = new HashMap<>(Map.of("engine_filtered", false));
        facts.put("seccomp_filters", null);
        assertThat(accepted("SECCOMP", probed(facts, 60, bytes -> "out_of_memory")))
                .containsExactly("SECCOMP");
        // A filter of one's own for the engine may deny other calls: where filters are counted, the number decides.
        assertThat(gaps(probed("engine_filtered", false, 60, "out_of_memory"), Map.of()))
                .isEmpty();
    }

    @Test
    void the_limit_on_a_users_processes_counts_where_there_is_one() throws Exception {
        FakeEngine.Runner many = probed("uid", 65534, 100, "out_of_memory");
        assertThat(gaps(many, Map.of("executor.sandbox.pids", 512))).isEmpty();
        assertThatThrownBy(() -> gaps(many, Map.of("executor.sandbox.pids", 512, "executor.sandbox.user-pids", 64)))
                .isInstanceOf(UnsafeHostException.class)
                .hasMessageContaining("PIDS_LIMIT");
    }

    private static ConfigurableApplicationContext start(FakeEngine fake, String... more) {
        List<String> all = new ArrayList<>(List.of(
                "--spring.config.name=harness-executor",
                "--server.port=0",
                "--platform.internal-secret=secret",
                "--spring.datasource.url=" + TestPostgres.jdbcUrl(TestPostgres.createDatabase()),
                "--spring.datasource.username=postgres",
                "--executor.sandbox.docker-host=" + fake.host(),
                "--executor.sandbox.image=image"));
        all.addAll(List.of(more));
        return new SpringApplicationBuilder(ExecutorApplication.class).run(all.toArray(String[]::new));
    }

    @Test
    void the_executor_refuses_to_serve_on_an_unsafe_host(CapturedOutput output) throws IOException {
        try (FakeEngine fake = new FakeEngine()) {
            fake.runner(probed("swap", "max", 60, "out_of_memory"));
            assertThatThrownBy(() -> start(fake)).hasStackTraceContaining(UnsafeHostException.class.getName());
            assertThat(output)
                    .contains("APPLICATION FAILED TO START")
                    .contains("SWAP_LIMIT: swap beside the memory limit max")
                    .contains("executor.sandbox.accepted-gaps");
            assertThat(fake.left()).isEmpty();
        }
    }

    @Test
    void an_accepted_gap_shows_in_the_metrics_the_health_and_every_execution() throws Exception {
        try (FakeEngine fake = new FakeEngine()) {
            fake.runner(probed("swap", "max", 60, "out_of_memory"));
            try (ConfigurableApplicationContext executor = start(fake, "--executor.sandbox.accepted-gaps=SWAP_LIMIT");
                    HttpClient http = HttpClient.newHttpClient()) {
                URI base = URI.create(
                        "http://127.0.0.1:" + executor.getEnvironment().getProperty("local.server.port"));
                executor.getBean(RunBudgets.class).open("adp_1", 10, 10_000, null);
                SolverSettings solver = SolverSettings.greedy("none");
                ExecutionStatus status = InternalClients.create(
                                ExecutorApi.class, base, "secret", Duration.ofSeconds(60))
                        .execute(
                                new ExecutionRequest(
                                        "adp_1/r0",
                                        "adp_1",
                                        Split.DEV,
                                        "def run(question, env):\n    return 'fine'\n",
                                        List.of(Item.of("q", List.of("fine"))),
                                        0,
                                        Scorers.own().ref("exact", Map.of()),
                                        solver,
                                        solver.hash("sha256:x"),
                                        new Limits(2, 5, 64),
                                        1),
                                60);
                assertThat(status.results())
                        .singleElement()
                        .satisfies(result -> assertThat(result.strict()).isTrue());
                assertThat(status.sandboxGaps()).containsExactly("SWAP_LIMIT");
                assertThat(get(http, base, "/metrics"))
                        .contains(
                                "executor_sandbox_gap{protection=\"SWAP_LIMIT\"} 1.0",
                                "executor_sandbox_gap{protection=\"NETWORK\"} 0.0",
                                "executor_containers_quarantined 0.0");
                assertThat(get(http, base, "/health")).contains("\"sandbox_gaps\":[\"SWAP_LIMIT\"]");
            }
        }
    }

    private static String get(HttpClient http, URI base, String path) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(base.resolve(path))
                .header(InternalSecretFilter.HEADER, "secret")
                .build();
        return http.send(request, BodyHandlers.ofString()).body();
    }
}
