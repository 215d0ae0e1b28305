package org.harnesslearning.trainer.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.flywaydb.core.Flyway;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.RestartablePostgres;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.harnesslearning.trainer.rollout.ProposerDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** Postgres is stopped while runs are in the middle of a step, and started again. */
@RequiresPostgres
class LostDatabaseTest {
    @TempDir
    private Path folder;

    private static JsonNode succeeded(Http http, String id) {
        JsonNode run = Loops.ended(http, id);
        assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
        return run;
    }

    @Test
    void runs_go_on_once_the_database_is_back_and_end_as_undisturbed_ones() throws Exception {
        Path checkpoint = TinyModels.writeWithTokenizer(folder, "qwen3-tied");
        Path marks = Files.createDirectory(folder.resolve("marks"));
        try (RestartablePostgres postgres = new RestartablePostgres(folder.resolve("postgres"))) {
            Flyway.configure().dataSource(postgres.dataSource()).load().migrate();
            try (ProposerDouble proposer = new ProposerDouble(JdbcClient.create(postgres.dataSource()));
                    ConfigurableApplicationContext trainer = LoopTrainer.run(LoopTrainer.arguments(
                            postgres.jdbcUrl(),
                            proposer.url(),
                            0,
                            checkpoint,
                            "--spring.datasource.hikari.connection-timeout=500",
                            "--tests.hold=accumulate:5:" + marks))) {
                Loops.script(proposer);
                Http http =
                        new Http("http://127.0.0.1:" + trainer.getEnvironment().getProperty("local.server.port"));

                // Between the gradients and the change of the weights.
                Map<String, String> disturbed =
                        Map.of("sft", Loops.order(http, Loops.sft()), "grpo", Loops.order(http, Loops.grpo()));
                LoopTrainer.awaitHeld(marks, 2, () -> true);
                postgres.stop();
                Files.createFile(marks.resolve("free"));
                LoopTrainer.awaitOpen(marks, 0);
                postgres.start();
                for (String id : disturbed.values()) {
                    succeeded(http, id);
                    assertThat(http.get("/training-runs/" + id + "/events").body())
                            .contains("\"step\":3,\"lost_steps\":1");
                }

                // While groups are sampled.
                LoopTrainer.awaitOpen(marks, 0);
                proposer.slow = true;
                proposer.revised.clear();
                String waiting = Loops.order(http, Loops.grpo());
                http.await("/training-runs/" + waiting, run -> !proposer.revised.isEmpty());
                LoopTrainer.awaitOpen(marks, 1);
                postgres.stop();
                LoopTrainer.awaitOpen(marks, 0);
                postgres.start();
                proposer.finishAll();
                succeeded(http, waiting);

                Map<String, String> undisturbed =
                        Map.of("sft", Loops.order(http, Loops.sft()), "grpo", Loops.order(http, Loops.grpo()));
                undisturbed.forEach((kind, id) -> {
                    JsonNode run = succeeded(http, id);
                    assertThat(version(http, disturbed.get(kind))).isEqualTo(version(http, id));
                    assertThat(Loops.losses(http, disturbed.get(kind))).isEqualTo(Loops.losses(http, id));
                    assertThat(run.at("/progress/done").asInt()).isEqualTo(Loops.STEPS);
                });
                assertThat(version(http, waiting)).isEqualTo(version(http, undisturbed.get("grpo")));
            }
        }
    }

    private static String version(Http http, String id) {
        return http.get("/training-runs/" + id).json().at("/result/version").asString();
    }
}
