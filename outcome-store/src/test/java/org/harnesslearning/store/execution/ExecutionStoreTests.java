package org.harnesslearning.store.execution;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.ModelCall;
import org.harnesslearning.contracts.execution.PythonRun;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.simple.JdbcClient;

@RequiresPostgres
class ExecutionStoreTests {
    private static final Instant NOW = Instant.parse("2030-01-02T03:04:05Z");
    private static final Clock CLOCK = Clock.fixed(NOW, ZoneOffset.UTC);
    private static JdbcClient jdbc;
    private static QuestionResults results;
    private static ModelCalls calls;
    private static RunBudgets budgets;

    private final String run = "adp_" + UUID.randomUUID();
    private final ResultKey key = new ResultKey("h" + run, "i", 0, "s", "c");

    @BeforeAll
    static void migrate() {
        String database = TestPostgres.createDatabase();
        Flyway.configure().dataSource(TestPostgres.dataSource(database)).load().migrate();
        jdbc = JdbcClient.create(twoConnections(database));
        results = new QuestionResults(jdbc, CLOCK);
        calls = new ModelCalls(jdbc, CLOCK);
        budgets = new RunBudgets(jdbc, CLOCK);
    }

    /** So few that a store which keeps a connection is noticed. */
    private static DataSource twoConnections(String database) {
        HikariConfig config = new HikariConfig();
        config.setDataSource(TestPostgres.dataSource(database));
        config.setMaximumPoolSize(2);
        config.setConnectionTimeout(10_000);
        return new HikariDataSource(config);
    }

    private static QuestionResult result(QuestionCode code, double score, String answer) {
        return new QuestionResult(
                "i",
                0,
                code,
                score,
                score == 1.0,
                answer,
                new HarnessError("E", "m", List.of(new HarnessError.Frame(3, "run", "x = 1"))),
                new QuestionResult.Trace(
                        "out",
                        "err",
                        List.of("log"),
                        List.of(new ModelCall(
                                List.of(new ChatRequest.Message("user", "q")), "r", "stop", null, 1, 2, 3)),
                        List.of(new PythonRun("code", "o", "e", null))),
                new Usage(1, 1, 2, 3));
    }

    private UUID call(UUID attempt, ResultKey of) {
        UUID id = UUID.randomUUID();
        assertThat(calls.begin(id, run, attempt, of)).isTrue();
        return id;
    }

    @Test
    void a_result_is_committed_once_and_reads_back_as_it_was() {
        QuestionResult first = result(QuestionCode.OK, 0.25, "42");
        assertThat(results.find(key)).isEmpty();
        assertThat(results.commit(key, run, UUID.randomUUID(), first)).isTrue();
        assertThat(results.commit(key, run, UUID.randomUUID(), result(QuestionCode.OK, 1, "other")))
                .isFalse();
        assertThat(results.find(key)).contains(first);
        assertThat(results.find(key.harnessHash(), 0, "s", "c", List.of("i", "absent")))
                .containsOnlyKeys("i");
        assertThat(results.find(key.harnessHash(), 1, "s", "c", List.of("i"))).isEmpty();
    }

    @Test
    void characters_that_postgres_refuses_are_replaced() {
        assertThat(results.commit(key, run, UUID.randomUUID(), result(QuestionCode.OK, 0, "a\0b\ud800")))
                .isTrue();
        assertThat(results.find(key).orElseThrow().answer()).isEqualTo("a\ufffdb\ufffd");
    }

    @Test
    void a_call_is_paid_before_it_starts_and_the_budget_is_never_exceeded() throws InterruptedException {
        budgets.open(run, 50, 1_000_000, null);
        AtomicInteger allowed = new AtomicInteger();
        List<Thread> threads = IntStream.range(0, 8)
                .mapToObj(thread -> Thread.ofVirtual().start(() -> {
                    for (int i = 0; i < 20; i++) {
                        if (calls.begin(UUID.randomUUID(), run, UUID.randomUUID(), key)) {
                            allowed.incrementAndGet();
                        }
                    }
                }))
                .toList();
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(allowed).hasValue(50);
        assertThat(budgets.usage(run).solver().calls()).isEqualTo(50);
        assertThat(budgets.find(run).orElseThrow().exhausted(NOW)).isEqualTo("all 50 solver calls are used");
    }

    @Test
    void tokens_and_the_deadline_end_a_budget_too() {
        assertThat(calls.begin(UUID.randomUUID(), run, UUID.randomUUID(), key))
                .as("a run without a budget")
                .isFalse();
        budgets.open(run, 50, 100, NOW.plus(Duration.ofMinutes(1)));
        UUID id = call(UUID.randomUUID(), key);
        calls.end(id, true, 60, 41, 7);
        calls.end(id, true, 60, 41, 7); // booked once
        assertThat(budgets.find(run).orElseThrow())
                .isEqualTo(new RunBudgets.Budget(50, 1, 100, 101, NOW.plus(Duration.ofMinutes(1)), 0, 0));
        assertThat(calls.begin(UUID.randomUUID(), run, UUID.randomUUID(), key)).isFalse();
        assertThat(budgets.find(run).orElseThrow().exhausted(NOW)).contains("101 solver tokens");

        String late = run + "/late";
        budgets.open(late, 50, 100, NOW);
        assertThat(calls.begin(UUID.randomUUID(), late, UUID.randomUUID(), key)).isFalse();
        assertThat(budgets.find(late).orElseThrow().exhausted(NOW)).contains("time is over");
    }

    @Test
    void usage_tells_repeated_calls_from_unfinished_ones() {
        budgets.open(run, 50, 1_000_000, null);
        ResultKey other = new ResultKey(key.harnessHash(), "j", 0, "s", "c");
        UUID lost = UUID.randomUUID();
        calls.end(call(lost, key), true, 10, 1, 5);
        call(lost, key); // its executor was killed
        assertThat(budgets.usage(run)).isEqualTo(new RunBudgets.RunUsage(new Usage(2, 10, 1, 5), 0, 2, 0));

        UUID again = UUID.randomUUID();
        calls.end(call(again, key), true, 10, 1, 5);
        results.commit(key, run, again, result(QuestionCode.OK, 1, "x"));
        call(UUID.randomUUID(), other); // cut off by the budget, never tried again
        assertThat(budgets.usage(run)).isEqualTo(new RunBudgets.RunUsage(new Usage(4, 20, 2, 10), 2, 1, 0));
        assertThat(budgets.usage("unknown")).isEqualTo(new RunBudgets.RunUsage(Usage.ZERO, 0, 0, 0));
    }

    @Test
    void a_result_of_another_run_is_counted_as_cached_once_and_costs_nothing() {
        budgets.open(run, 50, 1_000_000, null);
        UUID attempt = UUID.randomUUID();
        calls.end(call(attempt, key), true, 10, 1, 5);
        results.commit(key, run, attempt, result(QuestionCode.OK, 1, "x"));
        for (int i = 0; i < 2; i++) {
            results.use("later", key.harnessHash(), 0, "s", "c", List.of("i", "unknown"));
            results.use(run, key.harnessHash(), 0, "s", "c", List.of("i"));
        }
        assertThat(budgets.usage("later")).isEqualTo(new RunBudgets.RunUsage(Usage.ZERO, 0, 0, 1));
        assertThat(budgets.usage(run)).isEqualTo(new RunBudgets.RunUsage(new Usage(1, 10, 1, 5), 0, 0, 0));
    }

    @Test
    void an_executor_lives_as_long_as_it_says_so() {
        ExecutorInstances executors = new ExecutorInstances(jdbc);
        assertThat(executors.registry()).hasSize(36).isEqualTo(executors.registry());
        executors.beat("one");
        executors.beat("one");
        executors.beat("two");
        jdbc.sql("update executor_instance set beat_at = now() - interval '31 seconds' where instance = 'two'")
                .update();
        assertThat(executors.living(Duration.ofSeconds(30))).contains("one").doesNotContain("two");
        executors.beat("two");
        assertThat(executors.living(Duration.ofSeconds(30))).contains("one", "two");
        executors.leave("one");
        assertThat(executors.living(Duration.ofSeconds(30))).doesNotContain("one");
        jdbc.sql("update executor_instance set beat_at = now() - interval '2 days'")
                .update();
        assertThat(executors.living(Duration.ofDays(3))).isEmpty();
    }
}
