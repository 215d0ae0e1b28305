package org.harnesslearning.doubles;

import com.zaxxer.hikari.HikariDataSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.proposer.ProposerApplication;
import org.harnesslearning.testing.TestPostgres;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Database, doubles and the proposer service in this JVM, shared by the tests of a class. */
final class Platform implements AutoCloseable {
    private static final AtomicInteger NUMBER = new AtomicInteger();

    /** A starting harness that answers nothing right; edits replace its comment line. */
    static final String SEED = "def run(question, env):\n    # level: 0.0\n    return env.llm(question)\n";

    final String database = TestPostgres.createDatabase();
    final Doubles doubles = new Doubles(database);
    final DoubleExecutor executor = doubles.executor();
    final DoubleModel model = doubles.model();
    final JdbcClient jdbc = JdbcClient.create(pool(database));
    final Api api;
    private final ConfigurableApplicationContext proposer;

    Platform() {
        this(List.of());
    }

    /** @param more further arguments of the service */
    Platform(List<String> more) {
        SpringApplication application = new SpringApplication(ProposerApplication.class);
        List<String> arguments = new ArrayList<>(arguments(database, doubles.url(), 0));
        arguments.addAll(more);
        proposer = application.run(arguments.toArray(String[]::new));
        api = new Api("http://127.0.0.1:"
                + ((ServletWebServerApplicationContext) proposer).getWebServer().getPort());
    }

    /** A few connections to a database. */
    static HikariDataSource pool(String database) {
        HikariDataSource pool = new HikariDataSource();
        pool.setJdbcUrl(TestPostgres.jdbcUrl(database));
        pool.setMaximumPoolSize(4);
        pool.setMinimumIdle(1);
        return pool;
    }

    /** Command line of the service for tests: short waits, else as in production. */
    static List<String> arguments(String database, String doublesUrl, int port) {
        return List.of(
                "--spring.config.name=proposer-service",
                "--server.port=" + port,
                "--server.address=127.0.0.1",
                "--spring.main.banner-mode=off",
                "--spring.datasource.url=" + TestPostgres.jdbcUrl(database),
                "--platform.internal-secret=" + Doubles.SECRET,
                "--platform.executor-url=" + doublesUrl,
                "--platform.solver-url=" + doublesUrl,
                "--proposer.default-model=solver",
                "--proposer.prices[solver].prompt=2",
                "--proposer.prices[solver].completion=8",
                "--proposer.retry-delay=5ms",
                "--proposer.poll-wait=1s",
                "--proposer.event-poll=20ms",
                "--proposer.heartbeat=200ms",
                "--db-scheduler.heartbeat-interval=250ms",
                "--db-scheduler.polling-interval=50ms");
    }

    /** A new model with replies by place. */
    String model(ModelInfo.Kind kind, Map<String, String> replies) {
        String name = "model-" + NUMBER.incrementAndGet();
        model.add(name, kind, replies);
        return name;
    }

    String model(Map<String, String> replies) {
        return model(ModelInfo.Kind.LOCAL, replies);
    }

    /** A reply that replaces the seed's comment line. */
    static String edit(String from, String to) {
        return "<<<<<<< SEARCH\n    # " + from + "\n=======\n    # " + to + "\n>>>>>>> REPLACE\n";
    }

    /** An inline task with questions of its own. */
    Map<String, Object> task(int feedback, int dev, int heldOut) {
        int number = NUMBER.incrementAndGet();
        Map<String, Object> items = new LinkedHashMap<>();
        items.put("feedback", items(number, "feedback", feedback));
        items.put("dev", items(number, "dev", dev));
        items.put("held_out", items(number, "held_out", heldOut));
        return Map.of("inline", Map.of("description", "Answer the question.", "scorer", "exact", "items", items));
    }

    private static List<Object> items(int number, String split, int count) {
        List<Object> items = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            items.add(Map.of("question", "task " + number + " " + split + " " + i + "/" + count, "answer", "a" + i));
        }
        return items;
    }

    /** A request of an adaptation; fields override the rest. */
    Map<String, Object> request(String proposerModel, Map<String, Object> fields) {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("task", task(2, 4, 5));
        request.put("harness", Map.of("source", SEED));
        request.put("candidates", 3);
        request.put("rounds", 2);
        request.put("proposer", Map.of("model", proposerModel, "demonstrations", "none"));
        request.put("solver", Map.of("model", "solver"));
        request.putAll(fields);
        return request;
    }

    static String body(Object request) {
        return Json.write(request);
    }

    /** Rows of a table. */
    long rows(String table) {
        return jdbc.sql("select count(*) from " + table).query(Long.class).single();
    }

    /** Ends all that tests do to the executor and the model: what they hold goes on, and nothing fails any more. */
    void undisturbed() {
        executor.outage(null);
        executor.solverAway(place -> false);
        executor.release();
        model.release();
        model.fail(0);
    }

    @Override
    public void close() {
        proposer.close();
        doubles.close();
    }
}
