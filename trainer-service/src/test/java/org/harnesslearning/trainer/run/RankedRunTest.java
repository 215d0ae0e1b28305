package org.harnesslearning.trainer.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.flywaydb.core.Flyway;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.harnesslearning.trainer.TrainerApplication;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.harnesslearning.trainer.rollout.ProposerDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** A policy run that two processes train together over Gloo, one of which is killed in the middle of a step. */
@RequiresPostgres
class RankedRunTest {
    private static final String[] SHORT_WAITS = {
        "--trainer.distributed.heartbeat=100ms",
        "--trainer.distributed.lost-after=3s",
        "--trainer.distributed.exit-when-idle=100ms"
    };

    @TempDir
    private Path folder;

    private final String database = TestPostgres.createDatabase();

    private Process rank(int rank, String name, int rendezvous, Class<?> main, String... arguments) throws IOException {
        return LoopTrainer.start(
                main,
                folder.resolve(name + ".log"),
                Map.of(
                        "RANK",
                        Integer.toString(rank),
                        "LOCAL_RANK",
                        Integer.toString(rank),
                        "WORLD_SIZE",
                        "2",
                        "MASTER_ADDR",
                        "127.0.0.1",
                        "MASTER_PORT",
                        Integer.toString(rendezvous),
                        "OMP_NUM_THREADS",
                        "1"),
                arguments);
    }

    private Process worker(String name, int rendezvous) throws IOException {
        return rank(1, name, rendezvous, TrainerApplication.class, SHORT_WAITS);
    }

    @Test
    void a_run_goes_on_from_its_checkpoint_once_a_killed_rank_is_back_and_all_end_when_no_run_is_left()
            throws Exception {
        Flyway.configure().dataSource(TestPostgres.dataSource(database)).load().migrate();
        JdbcClient jdbc = JdbcClient.create(TestPostgres.dataSource(database));
        // Keeps the ranks from ending before the first run is ordered: a run that waits for ever, behind all others.
        jdbc.sql("""
                        insert into training_run (id, kind, base_model, state, settings, created_at, queued_at, planned)
                        values ('trn_z', 'grpo', 'tiny', 'queued', '{}', now(), now(), 1)""").update();
        Path checkpoint = TinyModels.writeWithTokenizer(folder, "qwen2-tied");
        Path marks = Files.createDirectory(folder.resolve("marks"));
        int rendezvous = LoopTrainer.freePort();
        int port = LoopTrainer.freePort();
        try (ProposerDouble proposer = new ProposerDouble(jdbc)) {
            Loops.script(proposer);
            Process leader = rank(
                    0,
                    "leader",
                    rendezvous,
                    LoopTrainer.class,
                    LoopTrainer.arguments(
                            TestPostgres.jdbcUrl(database),
                            proposer.url(),
                            port,
                            checkpoint,
                            SHORT_WAITS[0],
                            SHORT_WAITS[1],
                            SHORT_WAITS[2],
                            "--tests.hold=accumulate:5:" + marks));
            Process worker = worker("worker", rendezvous);
            try {
                Http http = new Http("http://127.0.0.1:" + port);
                http.await(
                        "/readyz", answer -> answer.path("status").asString("").equals("UP"));
                String disturbed = Loops.order(http, Loops.grpo());
                LoopTrainer.awaitHeld(marks, 1, leader::isAlive);

                // Both have their gradients, whose sum is not made yet.
                worker.destroyForcibly().waitFor();
                Files.createFile(marks.resolve("free"));
                LoopTrainer.awaitOpen(marks, 0);
                worker = worker("worker-again", rendezvous);

                JsonNode run = Loops.ended(http, disturbed);
                assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
                assertThat(http.get("/training-runs/" + disturbed + "/events").body())
                        .contains("\"step\":3,\"lost_steps\":1");
                JsonNode other = Loops.ended(http, Loops.order(http, Loops.grpo()));
                assertThat(run.at("/result/version").asString())
                        .startsWith("sha256:")
                        .isEqualTo(other.at("/result/version").asString());

                jdbc.sql("delete from training_run where id = 'trn_z'").update();
                assertThat(leader.waitFor()).isZero();
                assertThat(worker.waitFor()).isZero();
            } finally {
                leader.destroyForcibly().waitFor();
                worker.destroyForcibly().waitFor();
            }
        }
    }
}
