package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/**
 * The service in a JVM of its own, killed as by {@code kill -9} at four places of one adaptation and started again each
 * time. Executor and models live in this JVM and remember all that they were asked.
 */
@RequiresPostgres
class KillTests {
    private final String database = TestPostgres.createDatabase();
    private final int port = freePort();
    private final Api api = new Api("http://127.0.0.1:" + port);
    private final JdbcClient jdbc = JdbcClient.create(Platform.pool(database));

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Process start(String doublesUrl) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
                "-XX:TieredStopAtLevel=1",
                "-Xmx512m",
                "-cp",
                System.getProperty("java.class.path"),
                "org.harnesslearning.proposer.ProposerApplication"));
        command.addAll(Platform.arguments(database, doublesUrl, port));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        await(() -> {
            if (!process.isAlive()) {
                throw new AssertionError("the service ended with " + process.exitValue());
            }
            try {
                return api.get("/livez").status() == 200;
            } catch (UncheckedIOException e) {
                return false;
            }
        });
        return process;
    }

    private static void kill(Process process) throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    private static void await(BooleanSupplier condition) {
        long end = System.nanoTime() + Duration.ofSeconds(90).toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not reached in time");
            }
            try {
                Thread.sleep(25);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        }
    }

    @Test
    void a_run_killed_at_four_places_finishes_and_repeats_only_what_was_not_committed() throws Exception {
        try (Doubles doubles = new Doubles(database)) {
            DoubleModel model = doubles.model();
            DoubleExecutor executor = doubles.executor();
            model.add("writer", ModelInfo.Kind.LOCAL, replies());

            model.hold("1/0");
            Process service = start(doubles.url());
            String id =
                    api.post("/adapt", Json.write(request())).json().get("id").asString();
            model.awaitHeld();
            kill(service);
            model.release();

            // The second dev question of candidate 1/0 was asked of the solver and is not committed.
            executor.hold(place -> place.endsWith("/r1/c0/dev/0#1"));
            service = start(doubles.url());
            executor.awaitHeld();
            kill(service);
            executor.crash();

            // All candidates of round 1 have outcomes; the choice waits for the row that this transaction holds.
            model.hold("2/0");
            try (Connection lock = TestPostgres.dataSource(database).getConnection()) {
                lockRound(lock, id);
                service = start(doubles.url());
                await(() -> outcomes(id) == 2);
                assertThat(chosen(id)).isZero();
                kill(service);
            }
            model.release();

            executor.hold(place -> DoubleExecutor.heldOut(place) && place.contains("/result/") && place.endsWith("#3"));
            service = start(doubles.url());
            executor.awaitHeld();
            kill(service);
            executor.crash();

            service = start(doubles.url());
            JsonNode run = api.await(id, Api::ended);
            kill(service);

            assertThat(run.get("state").asString()).isEqualTo("succeeded");
            assertThat(executor.computed).doesNotHaveDuplicates();
            JsonNode counts = run.get("counts");
            assertThat(counts.get("attempted").asInt()).isEqualTo(4);
            assertThat(counts.get("scored").asInt()).isEqualTo(3);
            assertThat(counts.get("invalid").asInt()).isEqualTo(1);
            assertThat(counts.get("duplicates").asInt()).isEqualTo(1);
            // Killed within one call of two replies, and within one question each in two evaluations.
            assertThat(run.at("/usage/repeated").asLong()).isEqualTo(2 + 1 + 1);
            assertThat(run.at("/usage/proposer/calls").asLong()).isEqualTo(4);
            assertThat(model.asked.stream().filter("1/0"::equals)).hasSize(2);
            assertThat(model.asked.stream().filter("2/0"::equals)).hasSize(1);
            long questions = 4 + 2 + 4 + 2 + 4 + 15;
            assertThat(run.at("/usage/solver/calls").asLong()).isEqualTo(questions + 2);
            assertThat(executor.computed).hasSize((int) questions);
            assertEventsCountUp(id);
        }
    }

    private void assertEventsCountUp(String id) {
        List<Long> ids = jdbc.sql("select id from run_event where run_id = ? order by id")
                .param(id)
                .query(Long.class)
                .list();
        assertThat(ids.getFirst()).isEqualTo(1);
        assertThat(ids.getLast()).isEqualTo(ids.size());
        List<String> types = jdbc.sql("select type from run_event where run_id = ?")
                .param(id)
                .query(String.class)
                .list();
        assertThat(types.stream().filter("candidate.finished"::equals)).hasSize(4);
        assertThat(types.stream().filter("round.finished"::equals)).hasSize(2);
        assertThat(types.stream().filter("finished"::equals)).hasSize(1);
    }

    private static void lockRound(Connection connection, String id) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("select 1 from round where run_id = '" + id + "' for no key update");
        }
    }

    private long outcomes(String id) {
        return jdbc.sql("select count(*) from candidate where run_id = ? and round = 1 and outcome is not null")
                .param(id)
                .query(Long.class)
                .single();
    }

    private long chosen(String id) {
        return jdbc.sql("select count(*) from round where run_id = ? and chosen is not null")
                .param(id)
                .query(Long.class)
                .single();
    }

    private static Map<String, String> replies() {
        return Map.of(
                "1/0", Platform.edit("level: 0.0", "level: 0.5"),
                "1/1", "nothing to edit",
                "2/0", Platform.edit("level: 0.5", "level: 1.0"),
                "2/1", Platform.edit("level: 0.5", "level: 1.0"));
    }

    private static Map<String, Object> request() {
        Map<String, Object> items = new LinkedHashMap<>();
        items.put("feedback", items("feedback", 2));
        items.put("dev", items("dev", 4));
        items.put("held_out", items("held_out", 5));
        return Map.of(
                "task", Map.of("inline", Map.of("description", "Answer.", "scorer", "exact", "items", items)),
                "harness", Map.of("source", Platform.SEED),
                "candidates", 2,
                "rounds", 2,
                "proposer", Map.of("model", "writer", "demonstrations", "none"));
    }

    private static List<Object> items(String split, int count) {
        List<Object> items = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            items.add(Map.of("question", "kill " + split + " " + i + "/" + count, "answer", "a" + i));
        }
        return items;
    }
}
