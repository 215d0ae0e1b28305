package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.SolverSettings;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.contracts.web.InternalSecretFilter;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.tasks.Scorers;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * The whole executor at the engine and with the runtime that this run was given as system properties
 * ({@code executor.sandbox.*}, see docs/sandbox.md); without any, at the engine that all tests use.
 */
@RequiresDocker
@ExtendWith(TestSandboxes.ChosenRuntime.class)
@RequiresPostgres
class ChosenEngineTests {
    private static final String OWNER = "test-" + UUID.randomUUID();

    private static ConfigurableApplicationContext start(String... more) {
        String[] own = {"--executor.pool.size=1", "--executor.sandbox.owner=" + OWNER};
        return TestSandboxes.executor(
                Stream.of(own, more).flatMap(Arrays::stream).toArray(String[]::new));
    }

    @Test
    void the_executor_serves_with_the_gaps_that_are_accepted_and_with_no_other() throws Exception {
        Set<Protection> accepted = TestSandboxes.settings(Map.of()).acceptedGaps();
        if (!accepted.isEmpty()) {
            assertThatThrownBy(() -> start("--executor.sandbox.accepted-gaps="))
                    .rootCause()
                    .isInstanceOf(UnsafeHostException.class)
                    .satisfies(refusal ->
                            accepted.forEach(gap -> assertThat(refusal).hasMessageContaining(gap + ": ")));
        }
        try (ConfigurableApplicationContext executor = start();
                HttpClient http = HttpClient.newHttpClient()) {
            URI base =
                    URI.create("http://127.0.0.1:" + executor.getEnvironment().getProperty("local.server.port"));
            executor.getBean(RunBudgets.class).open("adp_1", 10, 10_000, null);
            SolverSettings solver = SolverSettings.greedy("none");
            ExecutionStatus status = InternalClients.create(ExecutorApi.class, base, "secret", Duration.ofSeconds(60))
                    .execute(
                            new ExecutionRequest(
                                    "adp_1/r0",
                                    "adp_1",
                                    Split.DEV,
                                    "def run(question, env):\n    return env.python(f'print({question})').stdout\n",
                                    List.of(Item.of("6 * 7", List.of("42")), Item.of("6 * 8", List.of("49"))),
                                    0,
                                    Scorers.own().ref("exact", Map.of()),
                                    solver,
                                    solver.hash("sha256:x"),
                                    new Limits(2, 10, TestSandboxes.MEMORY_MIB),
                                    1),
                            60);
            assertThat(status.results())
                    .extracting(result -> result.answer() + " " + result.strict())
                    .containsExactly("42 true", "48 false");
            assertThat(status.sandboxGaps())
                    .containsExactlyElementsOf(
                            accepted.stream().sorted().map(Enum::name).toList());
            HttpRequest request = HttpRequest.newBuilder(base.resolve("/metrics"))
                    .header(InternalSecretFilter.HEADER, "secret")
                    .build();
            String metrics = http.send(request, BodyHandlers.ofString()).body();
            for (Protection protection : Protection.values()) {
                assertThat(metrics)
                        .contains("executor_sandbox_gap{protection=\"" + protection + "\"} "
                                + (accepted.contains(protection) ? "1.0" : "0.0"));
            }
        }
        assertThat(TestSandboxes.containersOf(OWNER)).isEmpty();
    }
}
