package org.harnesslearning.trainer.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.flywaydb.core.Flyway;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.harnesslearning.trainer.rollout.ProposerDouble;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** Runs, as users order them, that are told to stop while they wait for revisions which do not end before they are let. */
@RequiresPostgres
class PausedWaitTest {
    @TempDir
    private static Path folder;

    private static Path checkpoint;
    private static Stage stage;
    private static End policy;
    private static End supervised;

    /** What a run came to. */
    private record End(String version, List<String> losses) {}

    /** A trainer on a database of its own, and the proposer-service that it asks. */
    private static final class Stage implements AutoCloseable {
        private final String database = TestPostgres.createDatabase();
        private final String[] more;
        private final JdbcClient jdbc;
        private final ProposerDouble proposer;
        private ConfigurableApplicationContext trainer;
        private Http http;

        Stage(String... more) {
            this.more = more;
            Flyway.configure()
                    .dataSource(TestPostgres.dataSource(database))
                    .load()
                    .migrate();
            jdbc = JdbcClient.create(TestPostgres.dataSource(database));
            proposer = new ProposerDouble(jdbc);
            Loops.script(proposer);
            proposer.known = this::served;
            start();
        }

        /** Whether solver-service would know a model: those of policies by their names in the registry only. */
        private boolean served(String model) {
            return !model.startsWith("trn_")
                    || jdbc.sql("select exists (select from model_alias where name = ?)")
                            .param(model)
                            .query(Boolean.class)
                            .single();
        }

        void start() {
            trainer = LoopTrainer.run(
                    LoopTrainer.arguments(TestPostgres.jdbcUrl(database), proposer.url(), 0, checkpoint, more));
            http = new Http("http://127.0.0.1:" + trainer.getEnvironment().getProperty("local.server.port"));
        }

        void stop() {
            trainer.close();
        }

        String order(Map<String, Object> request) {
            return Loops.order(http, request);
        }

        JsonNode await(String id, Predicate<JsonNode> wanted) {
            return http.await("/training-runs/" + id, wanted);
        }

        /** Waits until a step of the run has stood still for long, with so many groups asked for by then. */
        void awaitWait(String id, long step, long asked) {
            await(
                    id,
                    run -> run.path("message").asString("").startsWith("step " + step + " has taken")
                            && asked(id) == asked);
        }

        long asked(String id) {
            return number("select count(run_id) from training_group where training_run = ?", id);
        }

        void tell(String id, String what) {
            Http.Answer answer = http.post("/training-runs/" + id + "/" + what, "{}");
            assertThat(answer.status()).as(answer.body()).isEqualTo(202);
        }

        /** Has a run paused that stands still. */
        JsonNode pause(String id) {
            tell(id, "pause");
            return await(id, run -> run.get("state").asString().equals("paused"));
        }

        End end(String id) {
            JsonNode run = Loops.ended(http, id);
            assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
            return new End(run.at("/result/version").asString(), Loops.losses(http, id));
        }

        long number(String sql, Object... parameters) {
            return jdbc.sql(sql).params(parameters).query(Long.class).single();
        }

        List<Long> checkpoints(String id) {
            return jdbc.sql("select step from training_checkpoint where run_id = ? order by step desc")
                    .param(id)
                    .query(Long.class)
                    .list();
        }

        List<String> groups(String id, long batch) {
            return jdbc.sql("select state from training_group where training_run = ? and batch = ? order by number")
                    .params(id, batch)
                    .query(String.class)
                    .list();
        }

        /** That no group of a run was asked for twice, under whatever key, nor failed. */
        void assertNothingTwice(String id) {
            List<Long> seeds = new ArrayList<>();
            for (JsonNode request : proposer.revised) {
                if (request.at("/labels/training_run").asString().equals(id)) {
                    seeds.add(request.get("seed").asLong());
                }
            }
            assertThat(seeds).isNotEmpty().doesNotHaveDuplicates();
            assertThat(number(
                            "select count(*) from training_group where training_run = ? and (attempt > 0 or state = 'failed')",
                            id))
                    .isZero();
        }

        void assertLostNoStep(String id) {
            assertThat(http.get("/training-runs/" + id + "/events").body())
                    .contains("\"lost_steps\":0")
                    .doesNotContain("\"lost_steps\":1", "\"lost_steps\":2", "\"lost_steps\":3");
        }

        @Override
        public void close() {
            stop();
            proposer.close();
        }
    }

    /** Holds what is asked of the policy after so many steps. */
    private static Predicate<JsonNode> ofPolicy(long steps) {
        return request -> request.at("/proposer/model").asString().endsWith("-policy-" + steps);
    }

    @BeforeAll
    static void train() throws Exception {
        checkpoint = TinyModels.writeWithTokenizer(folder, "llama-untied");
        stage = new Stage();
        policy = stage.end(stage.order(Loops.grpo()));
        supervised = stage.end(stage.order(Loops.sft()));
    }

    @BeforeEach
    void release() {
        stage.proposer.known = stage::served;
        stage.proposer.finishAll();
    }

    @AfterAll
    static void close() {
        stage.close();
    }

    @Test
    void a_policy_run_pauses_while_it_waits_for_a_batch_and_takes_that_batch_up_after_the_resume() {
        // Sampling runs ahead by a batch of two steps: the third batch is of the policy after two steps.
        stage.proposer.held = ofPolicy(2);
        String run = stage.order(Loops.grpo());
        stage.awaitWait(run, 5, 8);

        JsonNode paused = stage.pause(run);
        assertThat(paused.get("message").asString()).isEqualTo("paused by the user");
        assertThat(paused.at("/progress/done").asInt()).isEqualTo(4);
        assertThat(stage.checkpoints(run)).containsExactly(4L, 3L);
        assertThat(stage.groups(run, 2)).containsExactly("ordered", "ordered");
        assertThat(stage.number("select count(*) from training_event where run_id = ? and type = 'batch.sampled'", run))
                .isEqualTo(2);
        assertThat(paused.get("active_ms").asLong())
                .as("the wait is work of the run")
                .isGreaterThan(stage.number("select sum(ms) from training_metric where run_id = ?", run));
        assertThat(stage.number("select active_ms from training_checkpoint where run_id = ? and step = 4", run))
                .isEqualTo(paused.get("active_ms").asLong());

        stage.proposer.finishAll();
        stage.tell(run, "resume");
        assertThat(stage.end(run)).isEqualTo(policy);
        stage.assertLostNoStep(run);
        stage.assertNothingTwice(run);
        assertThat(stage.number("select count(*) from training_event where run_id = ? and type = 'batch.sampled'", run))
                .as("each batch once")
                .isEqualTo(5);
    }

    @Test
    void
            a_run_pauses_again_and_again_before_its_first_step_and_its_policy_is_served_for_groups_still_to_be_asked_for() {
        stage.proposer.slow = true;
        String run = stage.order(Loops.order("grpo", """
                {"candidates": 4, "groups_per_batch": 2, "iterations": 2, "max_staleness": 1, "kl_coefficient": 0.05,
                 "groups_in_flight": 1, "lora": {"rank": 4, "dropout": 0.1}, "optimizer": {"learning_rate": 0.01}}"""));
        stage.awaitWait(run, 1, 1);
        JsonNode first = stage.pause(run);
        assertThat(first.at("/progress/done").asInt()).isZero();
        assertThat(stage.checkpoints(run)).containsExactly(0L);
        assertThat(stage.groups(run, 0)).containsExactly("ordered", "ordered");
        assertThat(stage.asked(run)).as("one at a time").isEqualTo(1);

        stage.tell(run, "resume");
        stage.awaitWait(run, 1, 1);
        JsonNode second = stage.pause(run);
        assertThat(second.get("active_ms").asLong())
                .as("the waits of both attempts count, though nothing new was to be saved")
                .isGreaterThan(first.get("active_ms").asLong())
                .isEqualTo(
                        stage.number("select active_ms from training_checkpoint where run_id = ? and step = 0", run));

        // As an attempt leaves it none of whose groups was under way any more when it ended.
        stage.jdbc
                .sql("delete from model_alias where starts_with(name, ?)")
                .param(run + "-")
                .update();
        stage.proposer.finishAll();
        stage.tell(run, "resume");
        assertThat(stage.end(run)).isEqualTo(policy);
        stage.assertNothingTwice(run);
    }

    @Test
    void a_run_that_refused_groups_had_paused_asks_for_them_again_under_the_name_of_their_policy() {
        stage.proposer.known = model -> false;
        String run = stage.order(Loops.order("grpo", """
                {"candidates": 4, "groups_per_batch": 2, "failures_in_row": 2, "lora": {"rank": 4}}"""));
        JsonNode paused =
                stage.await(run, found -> found.get("state").asString().equals("paused"));
        assertThat(paused.get("message").asString()).contains("2 groups in a row came to nothing", "names no model");

        stage.proposer.known = stage::served;
        stage.tell(run, "resume");
        stage.end(run);
        assertThat(stage.number("select count(*) from training_group where training_run = ? and state = 'failed'", run))
                .isZero();
    }

    @Test
    void a_run_whose_groups_come_to_nothing_pauses_at_its_last_step_and_loses_none() {
        stage.proposer.known = model -> !model.endsWith("-policy-2") && stage.served(model);
        String run = stage.order(Loops.order("grpo", """
                {"candidates": 4, "groups_per_batch": 2, "iterations": 2, "max_staleness": 1, "kl_coefficient": 0.05,
                 "failures_in_row": 2, "lora": {"rank": 4, "dropout": 0.1}, "optimizer": {"learning_rate": 0.01}}"""));
        JsonNode paused =
                stage.await(run, found -> found.get("state").asString().equals("paused"));
        assertThat(paused.get("message").asString()).contains("2 groups in a row came to nothing");
        assertThat(paused.at("/progress/done").asInt()).isEqualTo(4);
        assertThat(stage.checkpoints(run)).containsExactly(4L, 3L);

        stage.proposer.known = stage::served;
        stage.tell(run, "resume");
        assertThat(stage.end(run)).isEqualTo(policy);
        stage.assertLostNoStep(run);
    }

    @Test
    void a_supervised_run_pauses_while_it_gathers_and_asks_its_teachers_for_nothing_twice() {
        stage.proposer.slow = true;
        String run = stage.order(Loops.sft());
        stage.awaitWait(run, 1, 4);

        JsonNode paused = stage.pause(run);
        assertThat(paused.at("/progress/done").asInt()).isZero();
        assertThat(stage.checkpoints(run)).containsExactly(0L);
        assertThat(stage.number("select count(*) from corpus_sample where training_run = ?", run))
                .isZero();

        stage.proposer.finishAll();
        stage.tell(run, "resume");
        assertThat(stage.end(run)).isEqualTo(supervised);
        stage.assertNothingTwice(run);
    }

    @Test
    void a_run_that_waits_for_a_batch_is_cancelled_there_with_the_checkpoint_that_it_had() {
        stage.proposer.held = ofPolicy(2);
        String run = stage.order(Loops.grpo());
        stage.awaitWait(run, 5, 8);

        stage.tell(run, "cancel");
        assertThat(Loops.ended(stage.http, run).get("state").asString()).isEqualTo("cancelled");
        assertThat(stage.checkpoints(run)).containsExactly(3L);
        assertThat(stage.groups(run, 2)).containsExactly("ordered", "ordered");
    }

    @Test
    void a_trainer_that_is_shut_down_saves_a_run_that_waits_for_a_batch_and_the_next_one_loses_no_step() {
        try (Stage own = new Stage()) {
            own.proposer.held = ofPolicy(2);
            String run = own.order(Loops.grpo());
            own.awaitWait(run, 5, 8);

            own.stop();
            assertThat(own.checkpoints(run)).containsExactly(4L, 3L);
            assertThat(own.jdbc
                            .sql("select state from training_run where id = ?")
                            .param(run)
                            .query(String.class)
                            .single())
                    .isEqualTo("running");

            own.proposer.finishAll();
            own.start();
            assertThat(own.end(run)).isEqualTo(policy);
            own.assertLostNoStep(run);
            own.assertNothingTwice(run);
        }
    }

    @Test
    void a_pause_within_the_steps_of_a_batch_ends_the_step_whatever_is_sampled_ahead() throws Exception {
        Path marks = Files.createDirectory(folder.resolve("marks"));
        try (Stage own = new Stage("--tests.hold=accumulate:5:" + marks)) {
            own.proposer.held = ofPolicy(4);
            String run = own.order(Loops.grpo());
            LoopTrainer.awaitHeld(marks, 1, () -> true);
            own.tell(run, "pause");
            Files.createFile(marks.resolve("free"));

            JsonNode paused =
                    own.await(run, found -> found.get("state").asString().equals("paused"));
            assertThat(paused.at("/progress/done").asInt())
                    .as("the first step on the third batch is done, the second is not")
                    .isEqualTo(5);
            assertThat(own.checkpoints(run)).containsExactly(5L, 3L);
            assertThat(own.groups(run, 3)).containsExactly("ordered", "ordered");

            own.proposer.finishAll();
            own.tell(run, "resume");
            assertThat(own.end(run)).isEqualTo(policy);
            own.assertLostNoStep(run);
            own.assertNothingTwice(run);
        }
    }
}
