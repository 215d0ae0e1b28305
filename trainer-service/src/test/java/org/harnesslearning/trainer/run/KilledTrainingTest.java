package org.harnesslearning.trainer.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.flywaydb.core.Flyway;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.harnesslearning.trainer.rollout.ProposerDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/**
 * A supervised run and a policy run, as users order them, in a JVM of their own that is killed as by {@code kill -9}: once
 * between the gradients and the change of the weights, once while they save.
 */
@RequiresPostgres
class KilledTrainingTest {
    @TempDir
    private Path folder;

    private final String database = TestPostgres.createDatabase();
    private final String url = TestPostgres.jdbcUrl(database);

    /** What a run came to. */
    private record End(String version, List<String> losses) {}

    private static End end(Http http, String id) {
        JsonNode run = Loops.ended(http, id);
        assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
        return new End(run.at("/result/version").asString(), Loops.losses(http, id));
    }

    private static long names(JdbcClient jdbc) {
        return jdbc.sql("select count(*) from model_alias").query(Long.class).single();
    }

    private static Http http(ConfigurableApplicationContext trainer) {
        return new Http("http://127.0.0.1:" + trainer.getEnvironment().getProperty("local.server.port"));
    }

    /** Starts a trainer, has it do something, and kills it once so many learners hold where they are told to. */
    private void killedWhileHolding(
            ProposerDouble proposer, Path checkpoint, String where, int learners, Consumer<Http> act) throws Exception {
        Path marks = Files.createDirectory(folder.resolve("marks-" + where.replace(':', '-')));
        int port = LoopTrainer.freePort();
        Process trainer = LoopTrainer.start(
                LoopTrainer.class,
                folder.resolve("trainer-" + port + ".log"),
                Map.of(),
                LoopTrainer.arguments(url, proposer.url(), port, checkpoint, "--tests.hold=" + where + ":" + marks));
        try {
            Http http = new Http("http://127.0.0.1:" + port);
            http.await("/readyz", answer -> answer.path("status").asString("").equals("UP"));
            act.accept(http);
            LoopTrainer.awaitHeld(marks, learners, trainer::isAlive);
        } finally {
            trainer.destroyForcibly().waitFor();
        }
    }

    @Test
    void the_adapters_of_runs_that_were_killed_twice_are_bit_for_bit_those_of_undisturbed_ones() throws Exception {
        Flyway.configure().dataSource(TestPostgres.dataSource(database)).load().migrate();
        Path checkpoint = TinyModels.writeWithTokenizer(folder, "llama-untied");
        JdbcClient jdbc = JdbcClient.create(TestPostgres.dataSource(database));
        Map<String, Map<String, Object>> orders = Map.of("sft", Loops.sft(), "grpo", Loops.grpo());
        try (ProposerDouble proposer = new ProposerDouble(jdbc)) {
            Loops.script(proposer);
            Map<String, End> undisturbed = new LinkedHashMap<>();
            try (ConfigurableApplicationContext trainer =
                    LoopTrainer.run(LoopTrainer.arguments(url, proposer.url(), 0, checkpoint))) {
                orders.forEach((kind, order) ->
                        undisturbed.put(kind, end(http(trainer), Loops.order(http(trainer), order))));
            }
            assertThat(undisturbed.values())
                    .allSatisfy(end -> assertThat(end.losses()).hasSize(Loops.STEPS));

            Map<String, String> runs = new LinkedHashMap<>();
            killedWhileHolding(
                    proposer,
                    checkpoint,
                    "accumulate:5",
                    2,
                    http -> orders.forEach((kind, order) -> runs.put(kind, Loops.order(http, order))));
            killedWhileHolding(proposer, checkpoint, "save:1", 2, http -> {});
            runs.values()
                    .forEach(run -> assertThat(jdbc.sql("select max(step) from training_checkpoint where run_id = ?")
                                    .param(run)
                                    .query(Long.class)
                                    .single())
                            .as("what was half written is not there")
                            .isEqualTo(Loops.CHECKPOINT_EVERY));
            int asked = proposer.revised.size();

            try (ConfigurableApplicationContext trainer =
                    LoopTrainer.run(LoopTrainer.arguments(url, proposer.url(), 0, checkpoint))) {
                Http http = http(trainer);
                runs.forEach((kind, run) -> {
                    assertThat(end(http, run)).as(kind).isEqualTo(undisturbed.get(kind));
                    assertThat(http.get("/training-runs/" + run + "/events").body())
                            .contains("\"step\":3,\"lost_steps\":1", "\"step\":3,\"lost_steps\":3");
                });
                assertThat(proposer.revised.size() - asked)
                        .as("only batches that were not sampled yet are asked for")
                        .isLessThanOrEqualTo(6);
                assertThat(names(jdbc)).as("no policy stays served").isZero();

                proposer.slow = true;
                String cancelled = Loops.order(http, Loops.grpo());
                http.await("/training-runs/" + cancelled, run -> names(jdbc) == 1);
                http.post("/training-runs/" + cancelled + "/cancel", "{}");
                assertThat(Loops.ended(http, cancelled).get("state").asString()).isEqualTo("cancelled");
                assertThat(names(jdbc)).isZero();
            }
        }
    }
}
