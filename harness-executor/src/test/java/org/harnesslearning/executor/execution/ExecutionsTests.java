package org.harnesslearning.executor.execution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.flywaydb.core.Flyway;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SolverSettings;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.executor.ScriptedModel;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.executor.broker.BrokerSettings;
import org.harnesslearning.executor.broker.ModelBroker;
import org.harnesslearning.executor.broker.ToolBroker;
import org.harnesslearning.executor.check.HarnessChecker;
import org.harnesslearning.executor.kit.Kits;
import org.harnesslearning.executor.sandbox.HarnessSandbox;
import org.harnesslearning.executor.sandbox.SandboxFaultException;
import org.harnesslearning.executor.sandbox.Sandboxes;
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
import org.springframework.jdbc.core.simple.JdbcClient;

@RequiresDocker
@RequiresPostgres
class ExecutionsTests {
    private static final Limits LIMITS = new Limits(3, 5, 128);
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final String ASK = "def run(question, env):\n    return env.llm(question)\n";
    private static TestSandboxes docker;
    private static JdbcClient jdbc;
    private static QuestionResults results;
    private static RunBudgets budgets;

    /** Knows the square of a number, as text. */
    private final ScriptedModel model = new ScriptedModel(ExecutionsTests::square);

    private final Executions executions = executor(budgets);

    @BeforeAll
    static void start() {
        docker = new TestSandboxes(Map.of());
        String database = TestPostgres.createDatabase();
        Flyway.configure().dataSource(TestPostgres.dataSource(database)).load().migrate();
        jdbc = JdbcClient.create(TestPostgres.dataSource(database));
        results = new QuestionResults(jdbc, Clock.systemUTC());
        budgets = new RunBudgets(jdbc, Clock.systemUTC());
    }

    @AfterAll
    static void stop() {
        docker.close();
    }

    @AfterEach
    void no_container_is_left() {
        executions.close();
        model.close();
        await(() -> docker.containers().isEmpty());
    }

    private static void await(BooleanSupplier condition) {
        long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited too long").isLessThan(end);
            Thread.yield();
        }
    }

    private Executions executor(RunBudgets runs) {
        return executor(runs, model, Duration.ofSeconds(30));
    }

    private Executions executor(RunBudgets runs, ScriptedModel answering, Duration callTimeout) {
        return executor(runs, answering, callTimeout, docker.sandboxes());
    }

    private Executions executor(RunBudgets runs, ScriptedModel answering, Duration callTimeout, Sandboxes sandboxes) {
        ModelApi client = InternalClients.create(ModelApi.class, answering.url(), "secret", callTimeout);
        ModelBroker broker = new ModelBroker(
                client,
                new ModelCalls(jdbc, Clock.systemUTC()),
                runs,
                new BrokerSettings(3, Duration.ofMillis(1), Duration.ofMillis(5), callTimeout, 8192),
                Clock.systemUTC(),
                UUID::randomUUID,
                new SimpleMeterRegistry());
        ToolBroker tools = new ToolBroker(
                Kits.NONE,
                new ToolCalls(jdbc, Clock.systemUTC()),
                runs,
                new BrokerSettings(3, Duration.ofMillis(1), Duration.ofMillis(5), callTimeout, 8192),
                Clock.systemUTC(),
                UUID::randomUUID,
                new SimpleMeterRegistry());
        return new Executions(
                sandboxes,
                broker,
                tools,
                results,
                runs,
                Scorers.own(),
                new ExecutionSettings(3, Duration.ofMillis(1), Duration.ofMinutes(2), 64),
                new SimpleMeterRegistry(),
                ObservationRegistry.NOOP);
    }

    private static String square(ChatRequest request) {
        int number = Integer.parseInt(request.messages().getLast().content().replaceAll("\\D", ""));
        return Integer.toString(number * number);
    }

    private static Item item(int number) {
        return Item.of("square of " + number, List.of(Integer.toString(number * number)));
    }

    private static List<Item> items(int count) {
        return IntStream.range(0, count).mapToObj(ExecutionsTests::item).toList();
    }

    /** A request of a run of its own, whose budget is open. */
    private static ExecutionRequest request(String source, List<Item> items, int lanes) {
        String run = "adp_" + UUID.randomUUID();
        budgets.open(run, 1000, 1_000_000, null);
        SolverSettings solver = SolverSettings.greedy("scripted");
        ScorerRef exact = Scorers.own().ref("exact", Map.of());
        return new ExecutionRequest(
                run + "/r1/c0/dev/0",
                run,
                Split.DEV,
                source,
                items,
                0,
                exact,
                solver,
                solver.hash("sha256:" + run),
                LIMITS,
                lanes);
    }

    private static ExecutionRequest withId(ExecutionRequest r, String id) {
        return new ExecutionRequest(
                id,
                r.runId(),
                r.split(),
                r.source(),
                r.items(),
                r.repeat(),
                r.scorer(),
                r.solver(),
                r.solverHash(),
                r.limits(),
                r.lanes());
    }

    @Test
    void questions_are_answered_scored_and_counted() throws InterruptedException {
        String source = """
                def run(question, env):
                    env.log("asked")
                    answer = env.llm(question, max_tokens=9999)
                    return "no idea" if question == "square of 3" else f"  {answer}\\n"
                """;
        ExecutionRequest request = request(source, items(5), 2);
        ExecutionStatus status = executions.execute(request, LONG);

        assertThat(status.state()).isEqualTo(ExecutionStatus.State.DONE);
        assertThat(status.cached()).isZero();
        assertThat(status.results())
                .extracting(QuestionResult::itemHash)
                .containsExactlyElementsOf(items(5).stream().map(Item::hash).toList());
        assertThat(status.results()).extracting(QuestionResult::score).containsExactly(1.0, 1.0, 1.0, 0.0, 1.0);
        QuestionResult second = status.results().get(1);
        assertThat(second.answer()).isEqualTo("1");
        assertThat(second.strict()).isTrue();
        assertThat(second.trace().log()).containsExactly("asked");
        assertThat(second.trace().calls()).singleElement().satisfies(call -> {
            assertThat(call.messages()).containsExactly(new ChatRequest.Message("user", "square of 1"));
            assertThat(call.reply()).isEqualTo("1");
            assertThat(call.promptTokens()).isEqualTo(10);
        });
        assertThat(second.usage().calls()).isEqualTo(1);

        assertThat(model.requests()).hasSize(5).allSatisfy(sent -> {
            assertThat(sent.model()).isEqualTo("scripted");
            // A harness may ask for fewer tokens than the platform allows, never for more.
            assertThat(sent.maxTokens()).isEqualTo(512);
        });
        RunBudgets.RunUsage usage = budgets.usage(request.runId());
        assertThat(usage.solver().calls()).isEqualTo(5);
        assertThat(usage.solver().promptTokens()).isEqualTo(50);
        assertThat(usage.solver().completionTokens()).isEqualTo(25);
        assertThat(usage.repeated()).isZero();
        assertThat(usage.unfinished()).isZero();
        assertThat(budgets.find(request.runId()).orElseThrow().tokensUsed()).isEqualTo(75);
    }

    @Test
    void a_second_executor_computes_only_what_is_missing() throws InterruptedException {
        ExecutionRequest first = request(ASK, items(3), 1);
        assertThat(executions.execute(first, LONG).state()).isEqualTo(ExecutionStatus.State.DONE);
        ExecutionRequest wider = new ExecutionRequest(
                first.id(),
                first.runId(),
                first.split(),
                first.source(),
                items(5),
                0,
                first.scorer(),
                first.solver(),
                first.solverHash(),
                first.limits(),
                2);
        try (Executions restarted = executor(budgets)) {
            ExecutionStatus status = restarted.execute(wider, LONG);
            assertThat(status.state()).isEqualTo(ExecutionStatus.State.DONE);
            assertThat(status.cached()).isEqualTo(3);
            assertThat(status.results()).hasSize(5).allMatch(QuestionResult::strict);
        }
        assertThat(model.requests()).hasSize(5);
        assertThat(budgets.usage(first.runId()).repeated()).isZero();
        // The stored form reads back as it was given.
        try (Executions again = executor(budgets)) {
            assertThat(again.execute(first, LONG).results())
                    .isEqualTo(executions.execute(first, LONG).results());
        }
    }

    @Test
    void calls_of_a_lost_attempt_are_counted_as_repeated() throws InterruptedException {
        ExecutionRequest request = request(ASK, items(2), 1);
        CountDownLatch second = new CountDownLatch(1);
        Set<String> seen = ConcurrentHashMap.newKeySet();
        Semaphore never = new Semaphore(0);
        model.script(sent -> {
            String question = sent.messages().getLast().content();
            if (question.equals("square of 1") && seen.add(question)) {
                second.countDown();
                never.acquireUninterruptibly();
            }
            return square(sent);
        });
        assertThat(executions.execute(request, Duration.ZERO).state()).isEqualTo(ExecutionStatus.State.RUNNING);
        second.await();
        executions.close();
        assertThat(budgets.usage(request.runId()).unfinished()).isEqualTo(1);
        try (Executions restarted = executor(budgets)) {
            ExecutionStatus status = restarted.execute(request, LONG);
            assertThat(status.state()).isEqualTo(ExecutionStatus.State.DONE);
            assertThat(status.cached()).isEqualTo(1);
        }
        never.release();
        RunBudgets.RunUsage usage = budgets.usage(request.runId());
        assertThat(usage.solver().calls()).isEqualTo(3);
        assertThat(usage.repeated()).isEqualTo(1);
        assertThat(usage.unfinished()).isZero();
        assertThat(model.requests()).hasSize(3);
    }

    @Test
    void equal_requests_at_the_same_time_share_one_computation() throws InterruptedException {
        ExecutionRequest one = request(ASK, items(6), 2);
        ExecutionRequest other = withId(one, one.id() + "/again");
        ExecutionStatus[] statuses = new ExecutionStatus[3];
        List<Thread> threads = List.of(
                Thread.ofVirtual().start(() -> statuses[0] = done(one)),
                Thread.ofVirtual().start(() -> statuses[1] = done(other)),
                Thread.ofVirtual().start(() -> statuses[2] = done(one)));
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(statuses)
                .allSatisfy(status -> assertThat(status.results()).hasSize(6).allMatch(QuestionResult::strict));
        assertThat(model.requests()).hasSize(6);
    }

    @Test
    void two_runs_with_equal_evaluations_compute_them_once_and_say_so() throws InterruptedException {
        ExecutionRequest first = request(ASK, items(4), 2);
        ExecutionRequest second = ofAnotherRun(first, first.solver());
        Thread other = Thread.ofVirtual().start(() -> done(second));
        assertThat(done(first).results()).hasSize(4);
        other.join();
        assertThat(model.requests()).hasSize(4);
        RunBudgets.RunUsage one = budgets.usage(first.runId());
        RunBudgets.RunUsage two = budgets.usage(second.runId());
        assertThat(one.solver().calls() + two.solver().calls()).isEqualTo(4);
        assertThat(one.cached() + two.cached()).isEqualTo(4);
        assertThat(one.cached()).isEqualTo(two.solver().calls());

        ExecutionRequest third = ofAnotherRun(first, first.solver());
        assertThat(done(third).cached()).isEqualTo(4);
        assertThat(budgets.usage(third.runId())).isEqualTo(new RunBudgets.RunUsage(Usage.ZERO, 0, 0, 4));

        // What changes the replies changes the key: nothing is taken over.
        SolverSettings warmer = new SolverSettings("scripted", 0.7, 1.0, 512);
        ExecutionRequest sampled = ofAnotherRun(first, warmer);
        assertThat(done(sampled).cached()).isZero();
        assertThat(budgets.usage(sampled.runId()).cached()).isZero();
        assertThat(model.requests()).hasSize(8);
    }

    @Test
    void where_the_solver_answers_and_how_long_it_may_take_is_no_part_of_the_key() throws InterruptedException {
        ExecutionRequest first = request(ASK, items(2), 1);
        assertThat(done(first).cached()).isZero();
        ExecutionRequest second = ofAnotherRun(first, first.solver());
        try (ScriptedModel moved = new ScriptedModel(ExecutionsTests::square);
                Executions elsewhere = executor(budgets, moved, Duration.ofSeconds(77))) {
            assertThat(elsewhere.execute(second, LONG).cached()).isEqualTo(2);
            assertThat(moved.requests()).isEmpty();
        }
    }

    @Test
    void whatever_changes_a_result_is_part_of_its_key_and_nothing_else() throws InterruptedException {
        ExecutionRequest first = request(ASK, items(2), 1);
        assertThat(done(first).cached()).isZero();
        assertThat(done(like(first, first.source(), 0, first.scorer())).cached())
                .isEqualTo(2);
        assertThat(done(like(first, first.source() + "\n", 0, first.scorer())).cached())
                .as("harness")
                .isZero();
        assertThat(done(like(first, first.source(), 1, first.scorer())).cached())
                .as("repeat")
                .isZero();
        ScorerRef numeric = Scorers.own().ref("numeric", Map.of());
        assertThat(done(like(first, first.source(), 0, numeric)).cached())
                .as("scorer")
                .isZero();
        ScorerRef older = new ScorerRef(numeric.name(), numeric.version() + ".0", numeric.options());
        assertThat(Hashes.json(older)).as("version of the scorer").isNotEqualTo(Hashes.json(numeric));
    }

    private static ExecutionRequest like(ExecutionRequest r, String source, int repeat, ScorerRef scorer) {
        ExecutionRequest other = ofAnotherRun(r, r.solver());
        return new ExecutionRequest(
                other.id(),
                other.runId(),
                other.split(),
                source,
                other.items(),
                repeat,
                scorer,
                other.solver(),
                other.solverHash(),
                other.limits(),
                other.lanes());
    }

    @Test
    void a_prompt_of_many_messages_stands_in_the_trace_with_its_first_and_last_ones() throws InterruptedException {
        String source = """
                def run(question, env):
                    messages = [{"role": "user", "content": f"{number} " + "x" * 5000} for number in range(900)]
                    return env.llm(messages + [{"role": "user", "content": question}])
                """;
        ExecutionStatus status = executions.execute(request(source, items(3), 1), LONG);
        assertThat(status.results()).hasSize(3).allSatisfy(result -> {
            List<ChatRequest.Message> kept = result.trace().calls().getFirst().messages();
            assertThat(kept.getFirst().content()).startsWith("0 ");
            assertThat(kept.getLast().content()).startsWith("square of ");
            assertThat(kept)
                    .extracting(ChatRequest.Message::content)
                    .anyMatch(text -> text.contains("messages left out"));
            assertThat(kept.stream()
                            .mapToInt(message -> message.content().length())
                            .sum())
                    .isBetween(16_000, 40_000);
        });
    }

    @Test
    void a_failed_sandbox_leaves_nothing_in_the_cache_and_is_computed_anew() throws InterruptedException {
        ExecutionRequest request = request(ASK, items(2), 1);
        Sandboxes broken = new NoSandboxes(OptionalInt.empty());
        try (Executions executions = executor(budgets, model, Duration.ofSeconds(30), broken)) {
            ExecutionStatus failed = executions.execute(request, LONG);
            assertThat(failed.failure()).isEqualTo(OutcomeCode.SANDBOX_FAULT);
            assertThat(failed.results()).isEmpty();
        }
        ExecutionStatus computed = executions.execute(request, LONG);
        assertThat(computed.state()).isEqualTo(ExecutionStatus.State.DONE);
        assertThat(computed.cached()).isZero();
    }

    @Test
    void a_full_queue_refuses_new_executions_and_says_when_to_come_again() throws InterruptedException {
        ExecutionRequest request = request(ASK, items(1), 1);
        Sandboxes full = new NoSandboxes(OptionalInt.of(7));
        try (Executions executions = executor(budgets, model, Duration.ofSeconds(30), full)) {
            assertThatThrownBy(() -> executions.execute(request, LONG))
                    .isInstanceOfSatisfying(PlatformException.class, e -> {
                        assertThat(e.code()).isEqualTo(ErrorCode.QUEUE_FULL);
                        assertThat(e.retryAfterSeconds()).isEqualTo(7);
                    });
        }
        assertThatThrownBy(
                        () -> new HarnessChecker(full, ObservationRegistry.NOOP).check(new CheckRequest(ASK, LIMITS)))
                .isInstanceOfSatisfying(
                        PlatformException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.QUEUE_FULL));
    }

    /** Fails to give a sandbox. */
    private record NoSandboxes(OptionalInt retryAfterS) implements Sandboxes {
        @Override
        public HarnessSandbox open(String job, String source, Limits limits, SandboxKit kit) {
            throw new SandboxFaultException("no engine", null);
        }

        @Override
        public CheckResult check(String source, Limits limits, SandboxKit kit) {
            throw new SandboxFaultException("no engine", null);
        }

        @Override
        public OptionalInt retryAfterS(Limits limits) {
            return retryAfterS;
        }

        @Override
        public List<String> gaps() {
            return List.of();
        }
    }

    /** The same evaluation on behalf of a run of its own. */
    private static ExecutionRequest ofAnotherRun(ExecutionRequest r, SolverSettings solver) {
        String run = "adp_" + UUID.randomUUID();
        budgets.open(run, 1000, 1_000_000, null);
        return new ExecutionRequest(
                run + "/r1/c0/dev/0",
                run,
                r.split(),
                r.source(),
                r.items(),
                r.repeat(),
                r.scorer(),
                solver,
                solver.equals(r.solver()) ? r.solverHash() : solver.hash("sha256:" + run),
                r.limits(),
                r.lanes());
    }

    private ExecutionStatus done(ExecutionRequest request) {
        try {
            return executions.execute(request, LONG);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void a_question_has_its_own_limit_of_calls() throws InterruptedException {
        String greedy = """
                def run(question, env):
                    while True:
                        try:
                            env.llm(question)
                        except BaseException:
                            return "caught"
                """;
        ExecutionStatus status = executions.execute(request(greedy, items(1), 1), LONG);
        assertThat(status.results()).singleElement().satisfies(result -> {
            assertThat(result.code()).isEqualTo(QuestionCode.CALL_BUDGET);
            assertThat(result.score()).isZero();
            assertThat(result.usage()).extracting(Usage::calls).isEqualTo(3L);
        });
        assertThat(model.requests()).hasSize(3);
    }

    @Test
    void the_budget_of_a_run_ends_it_and_keeps_what_is_finished() throws InterruptedException {
        ExecutionRequest open = request(ASK, items(6), 2);
        String run = "adp_small_" + UUID.randomUUID();
        budgets.open(run, 4, 1_000_000, null);
        budgets.open(run, 4000, 1_000_000, null); // opening it again changes nothing
        ExecutionRequest request = new ExecutionRequest(
                "small",
                run,
                open.split(),
                open.source(),
                open.items(),
                0,
                open.scorer(),
                open.solver(),
                open.solverHash(),
                open.limits(),
                2);
        ExecutionStatus status = executions.execute(request, LONG);
        assertThat(status.state()).isEqualTo(ExecutionStatus.State.BUDGET);
        assertThat(status.message()).contains("all 4 solver calls are used");
        assertThat(status.results()).hasSize(4);
        assertThat(model.requests()).hasSize(4);
        // Another run pays for the two that are missing, and only for those.
        ExecutionStatus rest = executions.execute(open, LONG);
        assertThat(rest.state()).isEqualTo(ExecutionStatus.State.DONE);
        assertThat(rest.cached()).isEqualTo(4);
        assertThat(budgets.usage(open.runId()).solver().calls()).isEqualTo(2);
    }

    @Test
    void a_solver_that_is_away_is_a_failure_and_never_a_score() throws InterruptedException {
        ExecutionRequest request = request(ASK, items(2), 1);
        model.script(sent -> {
            throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "no model is loaded");
        });
        ExecutionStatus failed = executions.execute(request, LONG);
        assertThat(failed.state()).isEqualTo(ExecutionStatus.State.FAILED);
        assertThat(failed.failure()).isEqualTo(OutcomeCode.SOLVER_UNAVAILABLE);
        assertThat(failed.results()).isEmpty();
        assertThat(model.requests()).hasSize(3);
        // Once it is back, the same request goes on.
        model.script(ExecutionsTests::square);
        assertThat(executions.execute(request, LONG).state()).isEqualTo(ExecutionStatus.State.DONE);
        assertThat(budgets.usage(request.runId()).repeated()).isEqualTo(1);
    }

    @Test
    void a_solver_that_is_full_is_asked_again() throws InterruptedException {
        Set<String> refused = ConcurrentHashMap.newKeySet();
        model.script(sent -> {
            if (refused.add(sent.messages().getLast().content())) {
                throw new PlatformException(ErrorCode.QUEUE_FULL, "later");
            }
            return square(sent);
        });
        ExecutionStatus status = executions.execute(request(ASK, items(2), 1), LONG);
        assertThat(status.results()).hasSize(2).allMatch(QuestionResult::strict);
        assertThat(model.requests()).hasSize(4);
    }

    @Test
    void a_prompt_that_is_too_long_is_the_harness_own_fault() throws InterruptedException {
        model.script(sent -> {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "the prompt has 9000 tokens, the context 4096");
        });
        ExecutionStatus status = executions.execute(request(ASK, items(1), 1), LONG);
        assertThat(status.state()).isEqualTo(ExecutionStatus.State.DONE);
        assertThat(status.results()).singleElement().satisfies(result -> {
            assertThat(result.code()).isEqualTo(QuestionCode.ERROR);
            assertThat(result.error()).isNotNull();
            assertThat(result.error().type()).isEqualTo("LlmError");
            assertThat(result.error().message()).contains("9000 tokens");
            assertThat(result.error().frames())
                    .singleElement()
                    .satisfies(frame -> assertThat(frame.line()).isEqualTo(2));
        });
        assertThat(model.requests()).hasSize(1);
    }

    @Test
    void a_setting_that_the_solver_refuses_is_not_the_harness_fault() throws InterruptedException {
        model.script(sent -> {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/top_p", "top_p is from 0 to 1");
        });
        ExecutionStatus status = executions.execute(request(ASK, items(1), 1), LONG);
        assertThat(status.failure()).isEqualTo(OutcomeCode.SOLVER_UNAVAILABLE);
        assertThat(status.results()).isEmpty();
    }

    @Test
    void a_cancelled_execution_stops_at_once_and_stays_cancelled() throws InterruptedException {
        ExecutionRequest request = request(ASK, items(2), 1);
        CountDownLatch called = new CountDownLatch(1);
        Semaphore never = new Semaphore(0);
        model.script(sent -> {
            called.countDown();
            never.acquireUninterruptibly();
            return "late";
        });
        executions.execute(request, Duration.ZERO);
        called.await();
        executions.cancel(request.id());
        executions.cancel("unknown");
        assertThat(executions.execute(request, LONG).state()).isEqualTo(ExecutionStatus.State.CANCELLED);
        assertThat(executions.execute(request, LONG).results()).isEmpty();
        never.release();
    }

    @Test
    void one_id_names_one_request_of_an_open_run() {
        ExecutionRequest request = request(ASK, items(2), 1);
        done(request);
        assertThatThrownBy(() -> executions.execute(withId(request(ASK, items(3), 1), request.id()), LONG))
                .isInstanceOfSatisfying(
                        PlatformException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.IDEMPOTENCY_MISMATCH));
        ExecutionRequest unpaid = new ExecutionRequest(
                "unpaid",
                "adp_unknown",
                request.split(),
                ASK,
                items(1),
                0,
                request.scorer(),
                request.solver(),
                request.solverHash(),
                LIMITS,
                1);
        assertThatThrownBy(() -> executions.execute(unpaid, LONG))
                .isInstanceOfSatisfying(
                        PlatformException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_STATE));
    }

    @Test
    void every_kind_of_failure_is_stored_under_its_own_code_beside_good_answers() throws InterruptedException {
        String source = """
                import os

                def run(question, env):
                    if question == "memory":
                        keep = []
                        while True:
                            keep.append(bytearray(1 << 20))
                    if question == "loop":
                        while True:
                            pass
                    if question == "flood":
                        while True:
                            os.write(1, b"x" * 65536)
                    if question == "junk":
                        os.write(3, b"x" * 100)
                    if question == "nul":
                        env.log("a\\0b\\ud800")
                        return "\\0"
                    if question == "runner":
                        # What forks the children runs as the same user and can be killed; that gains nothing.
                        os.kill(os.getppid(), 9)
                        while True:
                            pass
                    if question == "error":
                        return [][0]
                    return "good"
                """;
        Map<String, QuestionCode> expected = Map.of(
                "memory", QuestionCode.MEMORY,
                "loop", QuestionCode.TIMEOUT,
                "flood", QuestionCode.OUTPUT_LIMIT,
                "junk", QuestionCode.SANDBOX_VIOLATION,
                "error", QuestionCode.ERROR,
                "runner", QuestionCode.SANDBOX_VIOLATION,
                "nul", QuestionCode.OK,
                "good", QuestionCode.OK);
        List<Item> items = expected.keySet().stream()
                .map(question -> Item.of(question, List.of("good")))
                .toList();
        ExecutionRequest open = request(source, items, 1);
        ExecutionRequest request = new ExecutionRequest(
                open.id(),
                open.runId(),
                Split.HELD_OUT,
                source,
                items,
                0,
                open.scorer(),
                open.solver(),
                open.solverHash(),
                new Limits(3, 1, 128),
                1);
        ExecutionStatus status = executions.execute(request, LONG);
        assertThat(status.state()).isEqualTo(ExecutionStatus.State.DONE);
        for (int i = 0; i < items.size(); i++) {
            String question = items.get(i).question();
            QuestionResult result = status.results().get(i);
            assertThat(result.code()).as(question).isEqualTo(expected.get(question));
            assertThat(result.score()).as(question).isEqualTo(question.equals("good") ? 1.0 : 0.0);
        }
        try (Executions restarted = executor(budgets)) {
            assertThat(restarted.execute(request, LONG).cached()).isEqualTo(items.size());
        }
    }
}
