package org.harnesslearning.trainer.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** The trainer in a JVM of its own, killed as by {@code kill -9} in a step and while it saves, and started again. */
@RequiresPostgres
class KilledTrainingTest {
    @TempDir
    private Path folder;

    private final String database = TestPostgres.createDatabase();

    private Process start(int port, String checkpoint) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
                "-XX:TieredStopAtLevel=1",
                "-Xmx512m",
                "-cp",
                System.getProperty("java.class.path"),
                DrillTrainer.class.getName()));
        command.addAll(DrillTrainer.arguments(database, "http://127.0.0.1:1", port, checkpoint));
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("trainer-" + port + ".log").toFile())
                .start();
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private static void awaitFile(Path file, Process process) {
        long end = System.nanoTime() + Duration.ofSeconds(90).toNanos();
        while (!Files.exists(file)) {
            if (System.nanoTime() > end || !process.isAlive()) {
                throw new AssertionError("not reached: " + file);
            }
            Thread.onSpinWait();
        }
    }

    @Test
    void the_adapter_of_a_run_that_was_killed_twice_is_bit_for_bit_that_of_an_undisturbed_one() throws Exception {
        String checkpoint = TinyModels.write(folder, "llama-untied").toString();
        Path marks = Files.createDirectory(folder.resolve("marks"));
        int first = freePort();
        Process trainer = start(first, checkpoint);
        try {
            Http http = new Http("http://127.0.0.1:" + first);
            http.await("/readyz", answer -> answer.path("status").asString("").equals("UP"));
            String undisturbed = http.post(
                            "/training-runs",
                            Map.of(
                                    "kind",
                                    "sft",
                                    "base_model",
                                    "tiny",
                                    "budget",
                                    Map.of("steps", 14),
                                    "checkpoint_every",
                                    4),
                            "Prefer",
                            "wait=60")
                    .json()
                    .at("/result/version")
                    .asString();
            assertThat(undisturbed).startsWith("sha256:");
            String id = http.post(
                            "/training-runs",
                            Map.of(
                                    "kind",
                                    "sft",
                                    "base_model",
                                    "tiny",
                                    "budget",
                                    Map.of("steps", 14),
                                    "checkpoint_every",
                                    4,
                                    "method",
                                    Map.of("marks", marks.toString(), "hold_at", 7, "hold_in_save_at", 12)))
                    .json()
                    .get("id")
                    .asString();
            awaitFile(marks.resolve("hold_at-7"), trainer);
            trainer.destroyForcibly().waitFor();

            int second = freePort();
            trainer = start(second, checkpoint);
            awaitFile(marks.resolve("hold_in_save_at-12"), trainer);
            trainer.destroyForcibly().waitFor();
            JdbcClient jdbc = JdbcClient.create(TestPostgres.dataSource(database));
            assertThat(jdbc.sql("select max(step) from training_checkpoint where run_id = ?")
                            .param(id)
                            .query(Long.class)
                            .single())
                    .as("what was half written is not there")
                    .isEqualTo(8);

            int third = freePort();
            trainer = start(third, checkpoint);
            http = new Http("http://127.0.0.1:" + third);
            JsonNode run = http.await(
                    "/training-runs/" + id, now -> now.path("finished_at").isString());
            assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
            assertThat(run.at("/result/version").asString()).isEqualTo(undisturbed);
            assertThat(http.get("/training-runs/" + id + "/metrics")
                            .json()
                            .get("data")
                            .size())
                    .isEqualTo(14);
            String events = http.get("/training-runs/" + id + "/events").body();
            assertThat(events).contains("\"step\":4,\"lost_steps\":2", "\"step\":8,\"lost_steps\":4");
        } finally {
            trainer.destroyForcibly().waitFor();
        }
    }
}
