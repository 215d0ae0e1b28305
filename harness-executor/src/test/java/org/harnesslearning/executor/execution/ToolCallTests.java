package org.harnesslearning.executor.execution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.flywaydb.core.Flyway;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SolverSettings;
import org.harnesslearning.contracts.execution.ToolCall;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.executor.ScriptedModel;
import org.harnesslearning.executor.ScriptedTool;
import org.harnesslearning.executor.ScriptedTool.Answer;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.executor.broker.BrokerSettings;
import org.harnesslearning.executor.broker.ModelBroker;
import org.harnesslearning.executor.broker.ToolBroker;
import org.harnesslearning.executor.check.HarnessChecker;
import org.harnesslearning.executor.kit.KitSettings;
import org.harnesslearning.executor.kit.Kits;
import org.harnesslearning.store.execution.ModelCalls;
import org.harnesslearning.store.execution.QuestionResults;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.store.execution.ToolCalls;
import org.harnesslearning.tasks.Scorers;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Calls of {@code env.tool} from real containers through the broker to a real HTTP server. */
@RequiresDocker
@RequiresPostgres
class ToolCallTests {
    private static final Limits LIMITS = new Limits(3, 5, 128);
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final String TOKEN = "Bearer hush-hush-token";

    /** Answers with the tool's square; says what an exception says. */
    private static final String ASK = """
            def run(question, env):
                try:
                    return str(env.tool("square", {"number": int(question.split()[-1])})["square"])
                except env.ToolError as e:
                    return f"{e.kind} {e.status} {e}"
            """;

    @TempDir
    static Path folder;

    private static TestSandboxes docker;
    private static JdbcClient jdbc;
    private static QuestionResults results;
    private static RunBudgets budgets;
    private static ToolCalls ledger;

    private final ScriptedTool tool = new ScriptedTool(ToolCallTests::square);
    private final ScriptedModel model = new ScriptedModel(request -> "reply");
    private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();

    @BeforeAll
    static void start() throws Exception {
        docker = new TestSandboxes(Map.of());
        String database = TestPostgres.createDatabase();
        Flyway.configure().dataSource(TestPostgres.dataSource(database)).load().migrate();
        jdbc = JdbcClient.create(TestPostgres.dataSource(database));
        results = new QuestionResults(jdbc, Clock.systemUTC());
        budgets = new RunBudgets(jdbc, Clock.systemUTC());
        ledger = new ToolCalls(jdbc, Clock.systemUTC());
        Files.writeString(folder.resolve("token"), TOKEN + "\n");
    }

    @AfterAll
    static void stop() {
        docker.close();
    }

    @AfterEach
    void end() {
        tool.close();
        model.close();
        await().atMost(20, TimeUnit.SECONDS).until(() -> docker.containers().isEmpty());
    }

    private static Answer square(ScriptedTool.Request request) {
        int number = Json.mapper().readTree(request.body()).path("number").asInt();
        return Answer.ok("{\"square\": " + number * number + "}");
    }

    private Kits kits(Map<String, Object> changes) {
        Map<String, Object> properties = new HashMap<>(Map.of(
                "executor.tools.square.url",
                tool.url("/square"),
                "executor.tools.square.description",
                "square of a number",
                "executor.tools.square.arguments",
                "{\"type\": \"object\", \"properties\": {\"number\": {\"type\": \"integer\"}}, \"required\": [\"number\"]}",
                "executor.tools.square.secret-headers.Authorization",
                folder.resolve("token"),
                "executor.tools.square.headers.X-Shop",
                "tests",
                "executor.tools.square.timeout",
                "20s",
                "executor.tools.square.calls-per-question",
                4));
        changes.forEach((name, value) -> properties.put("executor.tools." + name, value));
        return new Kits(new Binder(new MapConfigurationPropertySource(properties))
                .bind("executor", KitSettings.class)
                .get());
    }

    private Executions executor(Kits kits) {
        BrokerSettings settings =
                new BrokerSettings(3, Duration.ofMillis(1), Duration.ofMillis(5), Duration.ofSeconds(30), 600);
        return new Executions(
                docker.sandboxes(),
                new ModelBroker(
                        InternalClients.create(ModelApi.class, model.url(), "secret", Duration.ofSeconds(30)),
                        new ModelCalls(jdbc, Clock.systemUTC()),
                        budgets,
                        settings,
                        Clock.systemUTC(),
                        UUID::randomUUID,
                        metrics),
                new ToolBroker(kits, ledger, budgets, settings, Clock.systemUTC(), UUID::randomUUID, metrics),
                results,
                budgets,
                Scorers.own(),
                new ExecutionSettings(3, Duration.ofMillis(1), Duration.ofMinutes(2), 64),
                new SimpleMeterRegistry(),
                ObservationRegistry.NOOP);
    }

    private static ExecutionRequest request(Kits kits, String source, int count, long toolCalls) {
        String run = "adp_" + UUID.randomUUID();
        budgets.open(run, 1000, 1_000_000, null, toolCalls);
        SolverSettings solver = SolverSettings.greedy("scripted");
        SandboxKit kit = new SandboxKit(null, kits.offer().tools());
        List<Item> items = IntStream.range(0, count)
                .mapToObj(number -> Item.of("square of " + number, List.of(Integer.toString(number * number))))
                .toList();
        return new ExecutionRequest(
                run + "/r1/c0/dev/0",
                run,
                Split.DEV,
                source,
                items,
                0,
                Scorers.own().ref("exact", Map.of()),
                solver,
                kit.answersHash(solver.hash("sha256:" + run)),
                LIMITS,
                2,
                kit);
    }

    private record Ran(ExecutionRequest request, ExecutionStatus status) {
        QuestionResult first() {
            return status.results().getFirst();
        }
    }

    private Ran run(Map<String, Object> changes, String source, int count, long toolCalls) throws InterruptedException {
        Kits kits = kits(changes);
        ExecutionRequest request = request(kits, source, count, toolCalls);
        try (Executions executions = executor(kits)) {
            return new Ran(request, executions.execute(request, LONG));
        }
    }

    /** The one question's answer. */
    private String answer(Map<String, Object> changes, String source) throws InterruptedException {
        Ran ran = run(changes, source, 1, 100);
        assertThat(ran.status().state()).as("%s", ran.status()).isEqualTo(ExecutionStatus.State.DONE);
        assertThat(ran.first().code()).as("%s", ran.first()).isEqualTo(QuestionCode.OK);
        return String.valueOf(ran.first().answer());
    }

    private double measured(String outcome) {
        return metrics.get("tool.calls")
                .tags("tool", "square", "outcome", outcome)
                .timer()
                .count();
    }

    @Test
    void results_of_a_tool_reach_the_harness_are_counted_and_stand_in_the_trace() throws InterruptedException {
        Ran ran = run(Map.of(), ASK, 4, 100);
        assertThat(ran.status().state()).isEqualTo(ExecutionStatus.State.DONE);
        assertThat(ran.status().results()).hasSize(4).allMatch(QuestionResult::strict);
        assertThat(tool.requests()).hasSize(4).allSatisfy(sent -> {
            assertThat(sent.method()).isEqualTo("POST");
            assertThat(sent.path()).isEqualTo("/square");
            assertThat(sent.header("authorization")).isEqualTo(TOKEN);
            assertThat(sent.header("x-shop")).isEqualTo("tests");
            assertThat(sent.header("accept")).isEqualTo("application/json");
            assertThat(sent.header("idempotency-key")).startsWith("sha256:");
        });
        assertThat(tool.requests())
                .extracting(sent -> sent.header("idempotency-key"))
                .doesNotHaveDuplicates();
        QuestionResult last = ran.status().results().getLast();
        assertThat(last.trace().toolCalls()).singleElement().satisfies(call -> {
            assertThat(call.tool()).isEqualTo("square");
            assertThat(call.arguments()).isEqualTo("{\"number\":3}");
            assertThat(call.result()).isEqualTo("{\"square\":9}");
            assertThat(call.error()).isNull();
            assertThat(call.status()).isEqualTo(200);
        });
        assertThat(ledger.spent(ran.request().runId())).satisfies(spent -> {
            assertThat(spent.calls()).isEqualTo(4);
            assertThat(spent.byTool()).isEqualTo(Map.of("square", 4L));
            assertThat(spent.errors() + spent.unavailable() + spent.unfinished() + spent.repeated())
                    .isZero();
        });
        assertThat(budgets.find(ran.request().runId()).orElseThrow().toolCallsUsed())
                .isEqualTo(4);
        assertThat(measured("ok")).isEqualTo(4);
        assertThat(Json.write(ran.status())).doesNotContain("hush");

        // A committed question is never computed again, not even by another executor.
        try (Executions other = executor(kits(Map.of()))) {
            ExecutionStatus again = other.execute(ran.request(), LONG);
            assertThat(again.cached()).isEqualTo(4);
            assertThat(again.results()).isEqualTo(ran.status().results());
        }
        assertThat(tool.requests()).hasSize(4);
    }

    @Test
    void text_and_get_tools_work_and_arguments_never_leave_their_place_in_the_address() throws InterruptedException {
        tool.script(request -> Answer.ok("<" + request.query() + ">"));
        Map<String, Object> text =
                Map.of("square.method", "GET", "square.answer", "text", "square.arguments", "{\"type\": \"object\"}");
        String source = """
                def run(question, env):
                    return env.tool("square", {"q": "a&b=c/../#?", "n": 3, "l": [1, "x"]}) + env.tool("square")
                """;
        assertThat(answer(text, source)).isEqualTo("<q=a%26b%3Dc%2F..%2F%23%3F&n=3&l=%5B1%2C%22x%22%5D><null>");
        assertThat(tool.requests()).extracting(ScriptedTool.Request::path).containsOnly("/square");
    }

    @Test
    void arguments_that_the_schema_refuses_raise_in_the_harness_and_reach_no_tool() throws InterruptedException {
        String source = """
                def run(question, env):
                    told = []
                    for args in ({}, {"number": "7"}, [7], {"number": float("nan")}, {"number": {1: 2}}, {"number": 1 << 70}):
                        try:
                            env.tool("square", args)
                        except env.ToolError as e:
                            told.append(f"{e.kind}/{e.status}")
                    try:
                        env.tool("cube", {"number": 1})
                    except env.ToolError as e:
                        told.append(str(e))
                    return ",".join(told)
                """;
        assertThat(answer(Map.of(), source))
                .isEqualTo("arguments/None,".repeat(6) + "there is no tool cube; the tools of this task are square");
        assertThat(tool.requests()).isEmpty();
    }

    @Test
    void a_forged_message_to_the_channel_is_an_attack_and_not_a_failure_of_the_platform() throws InterruptedException {
        for (String args : List.of("NaN", "[1]", "{\"a\": 1e999}", "{\"a\": 99999999999999999999}")) {
            String source = """
                    import os

                    def run(question, env):
                        body = b'{"type": "tool", "name": "square", "args": %s}'
                        os.write(3, len(body).to_bytes(4, "big") + body)
                        return env.llm(question)
                    """.formatted(args);
            Ran ran = run(Map.of(), source, 1, 100);
            assertThat(ran.first().code()).as(args).isEqualTo(QuestionCode.SANDBOX_VIOLATION);
        }
        assertThat(tool.requests()).isEmpty();
    }

    @Test
    void a_refusal_of_the_tool_raises_with_its_status_and_words() throws InterruptedException {
        tool.script(request -> new Answer(404, "{\"error\": \"no such number\"}", Map.of()));
        assertThat(answer(Map.of(), ASK))
                .isEqualTo("http 404 the tool square answered with status 404: {\"error\": \"no such number\"}");
        assertThat(tool.requests()).hasSize(1);
        assertThat(measured("error")).isEqualTo(1);
    }

    @Test
    void an_answer_that_is_too_long_raises_and_is_not_read_to_its_end() throws InterruptedException {
        tool.script(request -> Answer.ok("\"" + "x".repeat(50_000_000) + "\""));
        assertThat(answer(Map.of("square.max-response", "1KB"), ASK))
                .isEqualTo("too_large 200 the answer of the tool square is longer than 1024 bytes");
    }

    @Test
    void a_tool_that_tells_what_it_was_sent_does_not_tell_its_credential() throws InterruptedException {
        tool.script(request -> Answer.ok(Json.write(Map.of("square", request.header("authorization")))));
        Ran ran = run(Map.of(), ASK, 1, 100);
        assertThat(ran.first().answer()).isEqualTo("[removed]");
        tool.script(request -> new Answer(400, "bad " + request.header("authorization"), Map.of()));
        assertThat(answer(Map.of(), ASK)).endsWith("status 400: bad [removed]");
        assertThat(jdbc.sql("select count(*) from question_result where detail::text like '%hush%'")
                        .query(Long.class)
                        .single())
                .isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {500, 503, 429, 408})
    void a_failing_tool_is_asked_again_and_then_its_question_is_an_infrastructure_failure(int status)
            throws InterruptedException {
        tool.script(request -> tool.requests().size() < 3 ? Answer.status(status) : square(request));
        assertThat(answer(Map.of(), ASK)).isEqualTo("0");
        assertThat(tool.requests()).hasSize(3);
        assertThat(tool.requests())
                .extracting(sent -> sent.header("idempotency-key"))
                .as("all tries of one call")
                .containsOnly(tool.requests().getFirst().header("idempotency-key"));

        tool.script(request -> Answer.status(status));
        Ran failed = run(Map.of(), ASK, 1, 100);
        assertThat(failed.status().state()).isEqualTo(ExecutionStatus.State.FAILED);
        assertThat(failed.status().failure()).isEqualTo(OutcomeCode.TOOL_UNAVAILABLE);
        assertThat(failed.status().message())
                .contains("The tool square is unavailable", "status " + status + ", in 3 tries");
        assertThat(failed.status().results()).isEmpty();
        assertThat(tool.requests()).hasSize(6);
        assertThat(ledger.spent(failed.request().runId()).unavailable()).isEqualTo(1);
        assertThat(measured("unavailable")).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {301, 302, 307, 401, 403})
    void redirects_and_refused_credentials_are_failures_of_the_platform_and_go_nowhere(int status)
            throws InterruptedException {
        try (ScriptedTool elsewhere = new ScriptedTool(ToolCallTests::square)) {
            tool.script(request -> new Answer(
                    status, "", Map.of("Location", elsewhere.url("/square").toString())));
            Ran failed = run(Map.of(), ASK, 1, 100);
            assertThat(failed.status().failure()).isEqualTo(OutcomeCode.TOOL_UNAVAILABLE);
            assertThat(failed.status().message()).contains("status " + status);
            assertThat(tool.requests()).hasSize(1);
            assertThat(elsewhere.requests()).isEmpty();
        }
    }

    @Test
    void an_answer_of_another_form_than_the_operator_said_is_no_score() throws InterruptedException {
        tool.script(request -> Answer.ok("<html>proxy</html>"));
        Ran failed = run(Map.of(), ASK, 1, 100);
        assertThat(failed.status().failure()).isEqualTo(OutcomeCode.TOOL_UNAVAILABLE);
        assertThat(failed.status().message()).contains("is not JSON");
    }

    @Test
    void a_tool_that_is_gone_hangs_or_breaks_off_is_no_score() throws Exception {
        Map<String, Object> once = Map.of("square.attempts", "2", "square.timeout", "300ms");
        tool.script(request -> Answer.NONE);
        Ran broken = run(once, ASK, 1, 100);
        assertThat(broken.status().failure()).isEqualTo(OutcomeCode.TOOL_UNAVAILABLE);
        assertThat(broken.status().message()).contains("the connection failed", "2 tries");

        CountDownLatch never = new CountDownLatch(1);
        tool.script(request -> {
            try {
                never.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return Answer.NONE;
        });
        Ran late = run(once, ASK, 1, 100);
        assertThat(late.status().failure()).isEqualTo(OutcomeCode.TOOL_UNAVAILABLE);
        assertThat(late.status().message()).contains("no answer in 300 ms");
        never.countDown();

        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        Map<String, Object> gone = new HashMap<>(once);
        gone.put("square.url", "http://127.0.0.1:" + port + "/");
        Ran lost = run(gone, ASK, 1, 100);
        assertThat(lost.status().failure()).isEqualTo(OutcomeCode.TOOL_UNAVAILABLE);
        assertThat(lost.status().message()).contains("ConnectException");
    }

    @Test
    void a_question_has_so_many_calls_of_a_tool_and_no_more() throws InterruptedException {
        String source = """
                def run(question, env):
                    while True:
                        env.tool("square", {"number": 1})
                """;
        Ran ran = run(Map.of(), source, 1, 100);
        assertThat(ran.first().code()).isEqualTo(QuestionCode.CALL_BUDGET);
        assertThat(ran.first().error())
                .satisfies(error -> assertThat(error.message()).isEqualTo("more than 4 calls of the tool square"));
        assertThat(tool.requests()).hasSize(4);

        String refused = source.replace("env.tool(\"square\", {\"number\": 1})", """
                try:
                            env.tool("square")
                        except env.ToolError:
                            pass""");
        assertThat(run(Map.of(), refused, 1, 100).first().code()).isEqualTo(QuestionCode.CALL_BUDGET);
        assertThat(tool.requests()).hasSize(4);
    }

    @Test
    void a_run_that_has_used_its_calls_ends_by_its_budget_and_keeps_what_is_finished() throws InterruptedException {
        Ran ran = run(Map.of(), ASK, 8, 5);
        assertThat(ran.status().state()).isEqualTo(ExecutionStatus.State.BUDGET);
        assertThat(ran.status().message()).contains("all 5 tool calls are used");
        assertThat(ran.status().results()).hasSize(5).allMatch(QuestionResult::strict);
        assertThat(tool.requests()).hasSize(5);
    }

    @Test
    void calls_of_a_lost_attempt_carry_the_same_key_again_and_are_counted() throws InterruptedException {
        Kits kits = kits(Map.of());
        String source = """
                def run(question, env):
                    first = env.tool("square", {"number": 2})["square"]
                    return str(first + env.tool("square", {"number": 0})["square"])
                """;
        ExecutionRequest request = request(kits, source, 1, 100);
        CountDownLatch second = new CountDownLatch(1);
        CountDownLatch never = new CountDownLatch(1);
        tool.script(sent -> {
            if (tool.requests().size() == 2) {
                second.countDown();
                try {
                    never.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            return square(sent);
        });
        Executions killed = executor(kits);
        assertThat(killed.execute(request, Duration.ZERO).state()).isEqualTo(ExecutionStatus.State.RUNNING);
        second.await();
        killed.close();
        never.countDown();
        try (Executions other = executor(kits)) {
            assertThat(other.execute(request, LONG).results().getFirst().answer())
                    .isEqualTo("4");
        }
        List<String> keys = tool.requests().stream()
                .map(sent -> sent.header("idempotency-key"))
                .toList();
        assertThat(keys).hasSize(4);
        assertThat(keys.subList(2, 4)).isEqualTo(keys.subList(0, 2));
        assertThat(keys.get(0)).isNotEqualTo(keys.get(1));
        ToolCalls.Spent spent = ledger.spent(request.runId());
        assertThat(spent.calls()).isEqualTo(4);
        assertThat(spent.repeated()).isEqualTo(2);
    }

    @Test
    void a_container_with_tools_has_no_network_and_no_credential() throws InterruptedException {
        String source = """
                import os, socket

                def run(question, env):
                    env.tool("square", {"number": 1})
                    found = list(os.environ.values()) + [open("/proc/self/cmdline").read()]
                    try:
                        socket.create_connection(("127.0.0.1", %d), 1)
                        return "connected"
                    except OSError:
                        return str(os.listdir("/sys/class/net")) + str(any("hush" in text for text in found))
                """.formatted(tool.url("/").getPort());
        assertThat(answer(Map.of(), source)).isEqualTo("['lo']False");
    }

    @Test
    void a_check_knows_the_tools_of_the_task_and_calls_none() throws InterruptedException {
        HarnessChecker checker = new HarnessChecker(docker.sandboxes(), ObservationRegistry.NOOP);
        SandboxKit kit = new SandboxKit(null, kits(Map.of()).offer().tools());
        String plain = "def run(question, env):\n    return str(env.tool(\"square\", {\"number\": 1})[\"square\"])\n";
        assertThat(checker.check(new CheckRequest(plain, LIMITS, kit)).code()).isNull();
        CheckResult unknown = checker.check(new CheckRequest(plain.replace("square\", {", "cube\", {"), LIMITS, kit));
        assertThat(unknown.code()).isEqualTo(OutcomeCode.SMOKE_ERROR);
        assertThat(unknown.message()).contains("there is no tool 'cube'; known: square");
        CheckResult none = checker.check(new CheckRequest(plain, LIMITS));
        assertThat(none.code()).isEqualTo(OutcomeCode.SMOKE_ERROR);
        assertThat(none.message()).contains("known: none");
        CheckResult wrong = checker.check(new CheckRequest(plain.replace("{\"number\": 1}", "number=1"), LIMITS, kit));
        assertThat(wrong.code()).isEqualTo(OutcomeCode.SMOKE_ERROR);
        assertThat(wrong.message()).contains("unexpected keyword argument 'number'");
        assertThat(tool.requests()).isEmpty();
    }

    @Test
    void long_texts_are_shortened_in_the_trace_only() throws InterruptedException {
        tool.script(request -> Answer.ok("{\"square\": \"" + "y".repeat(3000) + "\"}"));
        Ran ran = run(Map.of(), ASK, 1, 100);
        assertThat(String.valueOf(ran.first().answer())).hasSize(3000);
        ToolCall call = ran.first().trace().toolCalls().getFirst();
        assertThat(String.valueOf(call.result())).hasSizeLessThan(700).contains("characters left out");
    }
}
