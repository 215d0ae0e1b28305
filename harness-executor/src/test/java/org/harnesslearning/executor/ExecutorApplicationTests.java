package org.harnesslearning.executor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.SolverSettings;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.contracts.web.InternalSecretFilter;
import org.harnesslearning.executor.sandbox.DockerUnavailableException;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.tasks.Scorers;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;

@RequiresPostgres
class ExecutorApplicationTests {
    @Test
    @RequiresDocker
    void serves_executions_and_checks_to_callers_with_the_secret() throws Exception {
        String owner = "test-" + UUID.randomUUID();
        try (ScriptedModel model = new ScriptedModel(request -> "4");
                HttpClient http = HttpClient.newHttpClient();
                ConfigurableApplicationContext executor = TestSandboxes.executor(
                        "--executor.sandbox.owner=" + owner,
                        "--executor.pool.size=0",
                        "--platform.solver-url=" + model.url())) {
            URI base =
                    URI.create("http://127.0.0.1:" + executor.getEnvironment().getProperty("local.server.port"));
            ExecutorApi api = InternalClients.create(ExecutorApi.class, base, "secret", Duration.ofSeconds(60));
            executor.getBean(RunBudgets.class).open("adp_1", 10, 10_000, null);
            SolverSettings solver = SolverSettings.greedy("scripted");
            ExecutionRequest request = new ExecutionRequest(
                    "adp_1/r0",
                    "adp_1",
                    Split.DEV,
                    "def run(question, env):\n    return env.llm(question)\n",
                    List.of(Item.of("2 + 2", List.of("4")), Item.of("2 + 3", List.of("5"))),
                    0,
                    Scorers.own().ref("exact", Map.of()),
                    solver,
                    solver.hash("sha256:x"),
                    new Limits(2, 5, 64),
                    1);
            ExecutionStatus status = api.execute(request, 60);
            assertThat(status.state()).isEqualTo(ExecutionStatus.State.DONE);
            assertThat(status.results()).extracting(QuestionResult::score).containsExactly(1.0, 0.0);
            api.cancel("unknown");
            assertThat(api.check(new CheckRequest(request.source(), request.limits())))
                    .isEqualTo(CheckResult.PASSED);

            assertThatThrownBy(() -> InternalClients.create(ExecutorApi.class, base, "guess", Duration.ofSeconds(60))
                            .execute(request, 0))
                    .isInstanceOfSatisfying(
                            PlatformException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_KEY));
            for (String path : List.of("/livez", "/readyz", "/metrics")) {
                assertThat(http.send(HttpRequest.newBuilder(base.resolve(path)).build(), BodyHandlers.ofString()))
                        .as(path)
                        .satisfies(answer -> assertThat(answer.statusCode()).isEqualTo(200));
            }
            String metrics = http.send(
                            HttpRequest.newBuilder(base.resolve("/metrics")).build(), BodyHandlers.ofString())
                    .body();
            assertThat(metrics)
                    .contains(
                            "executor_containers 0.0",
                            "executor_pool_idle 0.0",
                            "executor_questions_total{code=\"OK\"} 2.0");
        }
        assertThat(TestSandboxes.containersOf(owner)).isEmpty();
    }

    @Test
    @RequiresDocker
    void past_its_places_and_its_queue_an_executor_answers_429_and_says_when_to_come_again() throws Exception {
        String owner = "test-" + UUID.randomUUID();
        CountDownLatch release = new CountDownLatch(1);
        try (ScriptedModel model = new ScriptedModel(request -> {
                    try {
                        release.await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                    return "4";
                });
                HttpClient http = HttpClient.newHttpClient();
                ConfigurableApplicationContext executor = TestSandboxes.executor(
                        "--executor.sandbox.owner=" + owner,
                        "--executor.sandbox.max-containers=1",
                        "--executor.admission.queue=1",
                        "--executor.pool.size=0",
                        "--platform.solver-url=" + model.url())) {
            URI base =
                    URI.create("http://127.0.0.1:" + executor.getEnvironment().getProperty("local.server.port"));
            executor.getBean(RunBudgets.class).open("adp_1", 10, 10_000, null);
            Function<Integer, ExecutionRequest> order = number -> new ExecutionRequest(
                    "adp_1/" + number,
                    "adp_1",
                    Split.DEV,
                    "def run(question, env):\n    return env.llm(question)\n# " + number,
                    List.of(Item.of("2 + 2", List.of("4"))),
                    0,
                    Scorers.own().ref("exact", Map.of()),
                    SolverSettings.greedy("scripted"),
                    SolverSettings.greedy("scripted").hash("sha256:x"),
                    new Limits(2, 5, 64),
                    1);
            Function<Integer, HttpResponse<String>> send = number -> {
                HttpRequest request = HttpRequest.newBuilder(base.resolve("/internal/executions?wait_s=0"))
                        .header(InternalSecretFilter.HEADER, "secret")
                        .header("Content-Type", "application/json")
                        .POST(BodyPublishers.ofString(Json.write(order.apply(number))))
                        .build();
                try {
                    return http.send(request, BodyHandlers.ofString());
                } catch (IOException | InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            };
            assertThat(send.apply(1).statusCode()).isEqualTo(200);
            metric(http, base, "executor_jobs_running 1.0");
            assertThat(send.apply(2).statusCode()).isEqualTo(200);
            metric(http, base, "executor_queue_length 1.0");
            HttpResponse<String> refused = send.apply(3);
            assertThat(refused.statusCode()).isEqualTo(429);
            assertThat(refused.body()).contains("QUEUE_FULL");
            assertThat(refused.headers().firstValueAsLong("Retry-After").orElseThrow())
                    .isBetween(1L, 60L);
            // An order that was taken is never refused, and asking for it again neither.
            assertThat(send.apply(2).statusCode()).isEqualTo(200);
            release.countDown();
            ExecutorApi api = InternalClients.create(ExecutorApi.class, base, "secret", Duration.ofSeconds(60));
            assertThat(api.execute(order.apply(2), 60).state()).isEqualTo(ExecutionStatus.State.DONE);
            metric(http, base, "executor_queue_length 0.0");
            assertThat(send.apply(3).statusCode()).isEqualTo(200);
        }
        assertThat(TestSandboxes.containersOf(owner)).isEmpty();
    }

    /** Waits until a metric has a value. */
    private static void metric(HttpClient http, URI base, String line) {
        HttpRequest request = HttpRequest.newBuilder(base.resolve("/metrics")).build();
        await().atMost(60, TimeUnit.SECONDS)
                .until(() -> http.send(request, BodyHandlers.ofString()).body().contains(line));
    }

    @Test
    void refuses_to_start_without_a_docker_engine_and_says_what_to_do() {
        assertThatThrownBy(
                        () -> TestSandboxes.executor("--executor.sandbox.docker-host=unix:///nonexistent/docker.sock"))
                .hasStackTraceContaining(DockerUnavailableException.class.getName())
                .hasStackTraceContaining("No Docker engine answers at unix:///nonexistent/docker.sock")
                .hasStackTraceContaining("systemctl start docker");
    }
}
