package org.harnesslearning.store.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Random;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

@RequiresPostgres
class CheckpointStoreTests {
    private static final Clock CLOCK = Clock.fixed(Instant.parse("2030-01-02T03:04:05Z"), ZoneOffset.UTC);
    private static JdbcClient jdbc;
    private static TransactionTemplate tx;
    private static CheckpointStore checkpoints;
    private static int number;

    @TempDir
    private Path folder;

    private final String run = "trn_" + number++;
    private final byte[] large = new byte[(9 << 20) + 17];

    @BeforeAll
    static void migrate() {
        DataSource source = TestPostgres.dataSource(TestPostgres.createDatabase());
        Flyway.configure().dataSource(source).load().migrate();
        jdbc = JdbcClient.create(source);
        tx = new TransactionTemplate(new JdbcTransactionManager(source));
        checkpoints = new CheckpointStore(jdbc, CLOCK);
    }

    @BeforeEach
    void write() throws IOException {
        new TrainingRunStore(jdbc, CLOCK)
                .insert(
                        new TrainingRunRow(
                                run,
                                "sft",
                                null,
                                "tiny",
                                RunState.QUEUED,
                                null,
                                null,
                                null,
                                Json.mapper().createObjectNode(),
                                null,
                                null,
                                CLOCK.instant(),
                                null,
                                null,
                                0,
                                0,
                                10,
                                1),
                        null);
        new Random(1).nextBytes(large);
        Files.createDirectories(folder.resolve("saved/adapter"));
        Files.write(folder.resolve("saved/adapter/weights"), large);
        Files.writeString(folder.resolve("saved/step"), "7");
        Files.createFile(folder.resolve("saved/empty"));
    }

    private void save(long step) {
        tx.executeWithoutResult(status -> checkpoints.save(run, step, 100, folder.resolve("saved")));
    }

    private Path read(int index) throws Exception {
        Path to = Files.createDirectories(folder.resolve("read"));
        checkpoints.read(run, checkpoints.all(run).get(index), to);
        return to;
    }

    @Test
    void a_folder_of_large_small_and_empty_files_comes_back_as_it_was() throws Exception {
        save(7);
        assertThat(checkpoints.all(run).getFirst().bytes()).isEqualTo(large.length + 1);
        Path back = read(0);
        assertThat(Files.readAllBytes(back.resolve("adapter/weights"))).isEqualTo(large);
        assertThat(back.resolve("step")).hasContent("7");
        assertThat(back.resolve("empty")).isEmptyFile();
    }

    @Test
    void what_was_not_committed_is_not_there() {
        save(6);
        tx.executeWithoutResult(status -> {
            checkpoints.save(run, 7, 100, folder.resolve("saved"));
            status.setRollbackOnly();
        });
        assertThat(checkpoints.all(run))
                .extracting(CheckpointStore.Checkpoint::step)
                .containsExactly(6L);
        assertThat(jdbc.sql("select count(*) from training_checkpoint_part where run_id = ? and step = 7")
                        .param(run)
                        .query(Long.class)
                        .single())
                .isZero();
    }

    @Test
    void a_lost_or_changed_part_is_noticed() {
        save(7);
        jdbc.sql("delete from training_checkpoint_part where run_id = ? and part = 1")
                .param(run)
                .update();
        assertThatThrownBy(() -> read(0))
                .isInstanceOf(CheckpointStore.BrokenCheckpointException.class)
                .hasMessageContaining("adapter/weights of the checkpoint of step 7");
        save(7);
        jdbc.sql("update training_checkpoint_part set content = '8' where run_id = ? and file = 'step'")
                .param(run)
                .update();
        assertThatThrownBy(() -> read(0)).hasMessageContaining("step of the checkpoint of step 7");
    }

    @Test
    void the_newest_are_kept_and_those_of_steps_to_be_done_again_forgotten() {
        for (long step = 1; step <= 4; step++) {
            save(step);
        }
        checkpoints.prune(run, 2);
        assertThat(checkpoints.all(run))
                .extracting(CheckpointStore.Checkpoint::step)
                .containsExactly(4L, 3L);
        checkpoints.rewind(run, 3);
        assertThat(checkpoints.all(run))
                .extracting(CheckpointStore.Checkpoint::step)
                .containsExactly(3L);
    }
}
