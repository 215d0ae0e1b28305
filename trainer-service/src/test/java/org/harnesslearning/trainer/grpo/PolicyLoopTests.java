package org.harnesslearning.trainer.grpo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.sample.GroupRow;
import org.harnesslearning.store.sample.SampleRow;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.trainer.rollout.LearnerDouble;
import org.harnesslearning.trainer.rollout.LearningPlatform;
import org.harnesslearning.trainer.rollout.ProposerDouble.Reply;
import org.harnesslearning.trainer.run.StepReport;
import org.harnesslearning.trainer.run.TrainingContext;
import org.harnesslearning.trainer.run.TrainingKind;
import org.harnesslearning.trainer.run.TrainingStopped;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

/** The online loop over Postgres; the model's tokenizer is real, its weights are one number. */
@RequiresPostgres
@RequiresModel("smollm2-135m")
class PolicyLoopTests {
    private static final String SMALL = """
            {"candidates": 4, "groups_per_batch": 2, "optimizer": {"learning_rate": 0.1}}""";
    private static final List<String> FAMILIES = List.of("chain_sum", "maze", "sudoku");

    private static LearningPlatform platform;

    @TempDir
    Path folder;

    @BeforeAll
    static void start() {
        platform = new LearningPlatform();
    }

    @AfterAll
    static void stop() {
        platform.close();
    }

    @BeforeEach
    void reset() {
        platform.proposer.script = (request, candidate) -> Reply.scored(candidate % 2 == 0 ? 0.75 : 0.25);
        platform.proposer.revised.clear();
        platform.proposer.evaluated.clear();
        platform.proposer.pausedFamily = "";
        platform.proposer.refusals.set(0);
    }

    private static List<SampleRow> samples(String run, long number) {
        return platform.groups.samples(run, number);
    }

    @Test
    void a_step_serves_the_policy_samples_its_groups_and_trains_on_what_stands_in_postgres() {
        LearningPlatform.Opened opened = platform.open(TrainingKind.GRPO, FAMILIES, SMALL);

        StepReport report = opened.work().step().orElseThrow();

        assertThat(report.step()).isEqualTo(1);
        assertThat(report.metrics())
                .containsEntry(StepReport.REWARD, 0.5)
                .containsEntry(StepReport.VALID_RATE, 1.0)
                .containsEntry(StepReport.ZERO_SPREAD_SHARE, 0.0)
                .containsKeys(
                        StepReport.LOSS,
                        StepReport.KL,
                        StepReport.CLIP_SHARE,
                        StepReport.ENTROPY,
                        StepReport.GRAD_NORM,
                        StepReport.LEARNING_RATE,
                        "sampler_gap",
                        "ratio_min",
                        "ratio_max");
        assertThat(report.metrics().get(StepReport.REWARD_WITH_BONUS)).isEqualTo(0.6, within(1e-9));
        assertThat(report.counts())
                .containsEntry("groups_trained", 2L)
                .containsEntry("samples_trained", 8L)
                .containsEntry(StepReport.TOKENS, 8 * 4L);
        GroupRow group = platform.groups.find(opened.run(), 1).orElseThrow();
        assertThat(group.state()).isEqualTo(GroupRow.State.SAMPLED);
        assertThat(group.policyStep()).isZero();
        assertThat(group.sampled().promptTokenIds()).containsExactly(1, 2, 3, 4);
        assertThat(group.sampled().weightsVersion()).isEqualTo("base+" + group.modelVersion());
        assertThat(group.sampled().promptVersion()).isEqualTo("p1");
        assertThat(group.sampled().temperature()).isEqualTo(0.7);
        SampleRow sample = samples(opened.run(), 1).getFirst();
        assertThat(sample.completionTokenIds()).containsExactly(11, 12, 13);
        assertThat(sample.logprobs()).containsExactly(-0.5, -1.0, -0.25);
        assertThat(sample.reward()).isEqualTo(0.75);
        assertThat(sample.rewardWithBonus()).isEqualTo(0.85, within(1e-9));
        int[] trained = opened.learner().trained.getFirst().getFirst();
        assertThat(Arrays.copyOf(trained, 3)).containsExactly(11, 12, 13);
        assertThat(trained)
                .as("the token that ended the reply is trained on too")
                .hasSize(4);
        opened.work().close();
        assertThat(platform.registry.served.keySet())
                .as("nothing stays served")
                .noneMatch(name -> name.startsWith(opened.run()));
    }

    @Test
    void requests_name_the_policy_carry_no_demonstration_and_never_repeat_a_seed_or_a_question() {
        LearningPlatform.Opened opened = platform.open(TrainingKind.GRPO, FAMILIES, SMALL);
        for (int step = 0; step < 4; step++) {
            opened.work().step();
        }
        opened.work().close();

        Set<Long> seeds = new HashSet<>();
        Set<Long> items = new HashSet<>();
        Set<String> models = new HashSet<>();
        for (JsonNode request : platform.proposer.revised) {
            assertThat(request.at("/proposer/demonstrations").asString()).isEqualTo("none");
            assertThat(request.at("/splits/held_out").asInt()).isZero();
            assertThat(request.at("/labels/training_run").asString()).isEqualTo(opened.run());
            seeds.add(request.get("seed").asLong());
            items.add(request.at("/task/reasoning_gym/seed").asLong());
            models.add(request.at("/proposer/model").asString());
        }
        assertThat(seeds).hasSize(8);
        assertThat(items).hasSize(8);
        assertThat(models)
                .containsExactlyInAnyOrder(
                        opened.run() + "-policy-0",
                        opened.run() + "-policy-1",
                        opened.run() + "-policy-2",
                        opened.run() + "-policy-3");
    }

    @Test
    void members_without_reward_or_tokens_leave_the_group_and_are_counted_by_reason() {
        platform.proposer.script = (request, candidate) -> switch (candidate) {
            case 0 -> Reply.scored(0.75).ending(CandidateOutcome.INFRA_FAILURE, OutcomeCode.SANDBOX_FAULT);
            case 1 -> Reply.scored(0.75).scoreColumn("{\"mean\": null, \"strict\": 0, \"scores\": []}");
            case 2 -> Reply.scored(0.75).scoreColumn("{\"mean\": \"NaN\"}");
            case 3 -> Reply.scored(0.75).tokens(null, null);
            case 4 -> Reply.scored(0.75).tokens(List.of(1, 2), List.of(-1.0));
            case 5 -> Reply.scored(0.5);
            case 6 -> Reply.invalid(OutcomeCode.NO_BLOCK);
            default -> Reply.scored(0.75).ending(null, null);
        };
        LearningPlatform.Opened opened =
                platform.open(TrainingKind.GRPO, FAMILIES, "{\"candidates\": 8, \"groups_per_batch\": 1}");

        StepReport report = opened.work().step().orElseThrow();
        opened.work().close();

        assertThat(report.counts())
                .containsEntry("samples", 8L)
                .containsEntry("samples_without_reward", 6L)
                .containsEntry("samples_infra_failure", 1L)
                .containsEntry("samples_no_score", 2L)
                .containsEntry("samples_no_token_ids", 1L)
                .containsEntry("samples_no_logprobs", 1L)
                .containsEntry("samples_no_outcome", 1L)
                .containsEntry("samples_trained", 2L);
        assertThat(report.metrics()).containsEntry(StepReport.REWARD, 0.25).containsEntry(StepReport.VALID_RATE, 0.5);
        assertThat(opened.learner().trained.getFirst()).hasSize(2);
        assertThat(samples(opened.run(), 1).get(0).reward()).isNull();
        assertThat(samples(opened.run(), 1).get(0).reason()).isEqualTo("infra_failure");
        assertThat(samples(opened.run(), 1).get(6).reward()).isEqualTo(0.0);
    }

    @Test
    void a_batch_of_flat_groups_is_counted_and_changes_nothing() {
        platform.proposer.script = (request, candidate) -> Reply.scored(0.5);
        LearningPlatform.Opened opened = platform.open(TrainingKind.GRPO, FAMILIES, SMALL);

        StepReport report = opened.work().step().orElseThrow();
        opened.work().close();

        assertThat(report.counts())
                .containsEntry("groups_dropped_zero_spread", 2L)
                .containsEntry("samples_dropped", 8L)
                .containsEntry("samples_trained", 0L)
                .containsEntry("batches_dropped", 1L)
                .doesNotContainKey(StepReport.TOKENS);
        assertThat(report.metrics())
                .containsEntry(StepReport.ZERO_SPREAD_SHARE, 1.0)
                .doesNotContainKey(StepReport.LOSS);
        assertThat(opened.learner().trained).isEmpty();
        assertThat(opened.learner().weight()).isZero();
    }

    @Test
    void copies_of_a_harness_in_a_group_count_once_where_a_run_asks_for_it() {
        double[] levels = {0.75, 0.75, 0.75, 0.25};
        platform.proposer.script = (request, candidate) -> Reply.scored(levels[candidate]);
        String distinct = SMALL.replaceFirst("\\{", "{\"distinct\": true, ");
        LearningPlatform.Opened opened = platform.open(TrainingKind.GRPO, FAMILIES, distinct);

        StepReport report = opened.work().step().orElseThrow();

        assertThat(report.counts())
                .containsEntry("samples", 8L)
                .containsEntry("samples_copies", 4L)
                .containsEntry("samples_trained", 4L)
                .containsEntry("groups_trained", 2L);
        assertThat(report.metrics()).as("of all samples").containsEntry(StepReport.REWARD, 0.625);
        assertThat(opened.learner().trained.getFirst()).hasSize(4);

        platform.proposer.script = (request, candidate) -> Reply.scored(0.5);
        StepReport alike = opened.work().step().orElseThrow();
        opened.work().close();

        assertThat(alike.counts())
                .containsEntry("samples_copies", 6L)
                .containsEntry("groups_dropped_zero_spread", 2L)
                .doesNotContainKey("groups_dropped_too_small");
        assertThat(alike.metrics()).containsEntry(StepReport.ZERO_SPREAD_SHARE, 1.0);
    }

    @Test
    void a_failing_group_is_counted_and_the_others_train() {
        platform.proposer.pausedFamily = "maze";
        LearningPlatform.Opened opened =
                platform.open(TrainingKind.GRPO, FAMILIES, "{\"candidates\": 4, \"groups_per_batch\": 3}");

        StepReport report = opened.work().step().orElseThrow();
        opened.work().close();

        assertThat(report.counts())
                .containsEntry("groups_failed", 1L)
                .containsEntry("groups_trained", 2L)
                .containsEntry("samples_trained", 8L);
    }

    @Test
    void failures_in_a_row_stop_the_run_with_a_reason_and_the_batch_is_asked_for_again_afterwards() {
        platform.proposer.pausedFamily = "chain_sum";
        LearningPlatform.Opened opened = platform.open(
                TrainingKind.GRPO,
                List.of("chain_sum"),
                "{\"candidates\": 4, \"groups_per_batch\": 3, \"failures_in_row\": 3}");

        assertThatThrownBy(() -> opened.work().step()).isInstanceOfSatisfying(PlatformException.class, failure -> {
            assertThat(failure.code().type()).isEqualTo(ErrorType.RESOURCES);
            assertThat(failure).hasMessageContaining("3 groups in a row").hasMessageContaining(" is paused: ");
        });
        opened.work().close();
        platform.proposer.pausedFamily = "";
        LearningPlatform.Opened again = platform.again(opened);
        StepReport report = again.work().step().orElseThrow();
        again.work().close();

        assertThat(report.step()).as("no step was used up").isEqualTo(1);
        assertThat(report.counts()).containsEntry("groups_trained", 3L).containsEntry("groups_failed", 0L);
    }

    @Test
    void an_order_that_is_refused_for_now_is_tried_again() {
        platform.proposer.refusals.set(2);
        LearningPlatform.Opened opened =
                platform.open(TrainingKind.GRPO, FAMILIES, "{\"candidates\": 4, \"groups_per_batch\": 1}");

        StepReport report = opened.work().step().orElseThrow();
        opened.work().close();

        assertThat(report.counts()).containsEntry("groups_trained", 1L).containsEntry("groups_failed", 0L);
    }

    @Test
    void a_resumed_run_takes_the_same_steps_and_asks_for_nothing_twice() throws IOException {
        String settings = """
                {"candidates": 4, "groups_per_batch": 2, "iterations": 2, "optimizer": {"learning_rate": 0.3}}""";
        LearningPlatform.Opened whole = platform.open(TrainingKind.GRPO, FAMILIES, settings);
        List<Double> weights = new ArrayList<>();
        for (int step = 0; step < 6; step++) {
            whole.work().step();
            weights.add(whole.learner().weight());
        }
        whole.work().close();

        LearningPlatform.Opened first = platform.open(TrainingKind.GRPO, FAMILIES, settings);
        for (int step = 0; step < 3; step++) {
            first.work().step();
        }
        // In the middle of a batch, then one more batch is sampled and lost with its process.
        Path checkpoint = Files.createDirectory(folder.resolve("checkpoint"));
        first.work().save(checkpoint);
        first.work().step();
        first.work().step();
        first.work().close();
        int asked = platform.proposer.revised.size();

        LearningPlatform.Opened resumed = platform.again(first);
        resumed.work().restore(checkpoint);
        List<Double> again = new ArrayList<>();
        List<Long> numbers = new ArrayList<>();
        for (int step = 3; step < 6; step++) {
            StepReport report = resumed.work().step().orElseThrow();
            numbers.add(report.step());
            again.add(resumed.learner().weight());
        }
        resumed.work().close();

        assertThat(numbers).containsExactly(4L, 5L, 6L);
        assertThat(again).isEqualTo(weights.subList(3, 6));
        assertThat(platform.proposer.revised)
                .as("all groups were stored already")
                .hasSize(asked);
    }

    @ParameterizedTest
    @EnumSource(
            value = TrainingKind.class,
            names = {"GRPO", "MULTISTEP"})
    void what_is_saved_while_a_batch_is_waited_for_goes_on_as_if_nothing_had_been(TrainingKind kind)
            throws IOException {
        String settings = """
                {"candidates": 4, "groups_per_batch": 2, "iterations": 2, "optimizer": {"learning_rate": 0.3}}""";
        LearningPlatform.Opened whole = platform.open(kind, FAMILIES, settings);
        List<Double> weights = new ArrayList<>();
        for (int step = 0; step < 6; step++) {
            whole.work().step();
            weights.add(whole.learner().weight());
        }
        whole.work().close();
        platform.proposer.revised.clear();

        LearningPlatform.Opened first = platform.open(kind, FAMILIES, settings);
        first.work().step();
        first.work().step();
        first.desk().stopped = true;
        assertThatThrownBy(() -> first.work().step()).isInstanceOf(TrainingStopped.class);
        Path checkpoint = Files.createDirectory(folder.resolve("checkpoint"));
        first.work().save(checkpoint);
        first.work().close();
        assertThat(platform.groups.ofBatch(first.run(), 1))
                .as("the batch is ordered, and neither asked for nor given up")
                .hasSize(2)
                .allMatch(group -> group.state() == GroupRow.State.ORDERED);

        LearningPlatform.Opened resumed = platform.again(first);
        resumed.work().restore(checkpoint);
        List<Double> again = new ArrayList<>();
        for (int step = 2; step < 6; step++) {
            assertThat(resumed.work().step().orElseThrow().step()).isEqualTo(step + 1);
            again.add(resumed.learner().weight());
        }
        resumed.work().close();

        assertThat(again).isEqualTo(weights.subList(2, 6));
        assertThat(platform.proposer.revised)
                .extracting(request -> request.get("seed").asLong())
                .hasSize(6)
                .doesNotHaveDuplicates();
    }

    @Test
    void sampling_may_run_ahead_by_the_allowed_number_of_batches() {
        LearningPlatform.Opened opened = platform.open(
                TrainingKind.GRPO,
                FAMILIES,
                "{\"candidates\": 4, \"groups_per_batch\": 2, \"max_staleness\": 1, \"optimizer\": {\"learning_rate\": 0.1}}");
        for (int step = 0; step < 3; step++) {
            assertThat(opened.work().step().orElseThrow().counts())
                    .containsEntry("groups_trained", 2L)
                    .doesNotContainKey("groups_dropped_stale");
        }
        opened.work().close();

        assertThat(platform.groups.ofBatch(opened.run(), 0)).allMatch(group -> group.policyStep() == 0);
        assertThat(platform.groups.ofBatch(opened.run(), 1)).allMatch(group -> group.policyStep() == 0);
        assertThat(platform.groups.ofBatch(opened.run(), 2)).allMatch(group -> group.policyStep() == 1);
    }

    /** A run of one group, after its first step. */
    private LearningPlatform.Opened oneStep(int candidates, String reward) {
        LearningPlatform.Opened opened = platform.open(
                TrainingKind.GRPO,
                FAMILIES,
                "{\"candidates\": " + candidates + ", \"groups_per_batch\": 1, \"reward_mode\": \"" + reward + "\"}");
        opened.work().step();
        opened.work().close();
        return opened;
    }

    @Test
    void delta_modes_measure_the_parent_and_the_edits_on_the_same_questions() {
        LearningPlatform.Opened dev = oneStep(2, "delta_dev");
        assertThat(platform.proposer.evaluated).hasSize(1);
        assertThat(platform.proposer.evaluated.peek().get("split").asString()).isEqualTo("dev");
        assertThat(samples(dev.run(), 1)).extracting(SampleRow::rewardWithBonus).containsExactly(0.75, 0.25);

        platform.proposer.evaluated.clear();
        oneStep(2, "improvement_dev");
        assertThat(platform.proposer.evaluated)
                .singleElement()
                .satisfies(
                        request -> assertThat(request.get("split").asString()).isEqualTo("dev"));

        platform.proposer.evaluated.clear();
        LearningPlatform.Opened same = oneStep(4, "delta_same_batch");
        assertThat(platform.proposer.evaluated)
                .as("equal harnesses are measured once")
                .hasSize(2)
                .allMatch(request -> request.get("split").asString().equals("feedback"));
        assertThat(samples(same.run(), 1)).extracting(SampleRow::reward).containsExactly(0.75, 0.25, 0.75, 0.25);
    }

    @Test
    void with_several_steps_the_chosen_harness_is_the_next_state_with_new_questions() {
        platform.proposer.script = (request, candidate) -> {
            String source = request.at("/harness/source").asString();
            double level = source.contains("0.5") ? 0.75 : 0.5;
            return candidate == 0 ? Reply.scored(level) : Reply.invalid(OutcomeCode.NO_BLOCK);
        };
        LearningPlatform.Opened opened = platform.open(
                TrainingKind.MULTISTEP, FAMILIES, "{\"candidates\": 2, \"groups_per_batch\": 2, \"depth\": 3}");
        for (int step = 0; step < 4; step++) {
            opened.work().step();
        }
        opened.work().close();

        List<GroupRow> lane = new ArrayList<>();
        for (long number = 1; number <= 7; number += 2) {
            lane.add(platform.groups.find(opened.run(), number).orElseThrow());
        }
        assertThat(lane).extracting(GroupRow::depth).containsExactly(0, 1, 2, 0);
        assertThat(lane.get(1).family()).isEqualTo(lane.get(0).family());
        assertThat(lane.get(1).itemSeed()).isNotEqualTo(lane.get(0).itemSeed());
        assertThat(lane.get(1).harness())
                .isEqualTo(lane.get(0).chosen())
                .isNotEqualTo(lane.get(0).harness());
        assertThat(lane.get(2).harness())
                .isEqualTo(lane.get(1).chosen())
                .isNotEqualTo(lane.get(1).harness());
        assertThat(lane.get(3).harness())
                .as("a new lane begins")
                .isEqualTo(lane.get(0).harness());
        assertThat(lane.get(2).chosen())
                .as("no sample is strictly better than 0.75: the parent stays")
                .isEqualTo(lane.get(2).harness());
    }

    @Test
    void a_run_ends_when_its_budget_of_calls_is_used_up() {
        LearningPlatform.Opened opened =
                platform.open(TrainingKind.GRPO, FAMILIES, SMALL, new TrainingContext.Budget(100, 3600, 10, 1_000_000));

        assertThat(opened.work().step()).isPresent();
        assertThat(opened.work().step()).isPresent();
        assertThat(opened.work().step())
                .as("2 batches of 2 groups with 3 calls each are 12")
                .isEmpty();
        opened.work().close();
    }

    @Test
    void settings_have_defaults_are_a_fixed_point_and_name_every_fault() {
        JsonNode effective = Json.mapper()
                .valueToTree(platform.method(TrainingKind.GRPO)
                        .settings(Json.mapper().readTree("{}")));

        assertThat(effective.get("candidates").asInt()).isEqualTo(8);
        assertThat(effective.at("/rollout/temperature").asDouble()).isEqualTo(0.7);
        assertThat(effective.at("/lora/rank").asInt()).isEqualTo(16);
        assertThat(effective.get("clip_high").asDouble()).isEqualTo(0.28);
        assertThat(effective.has("depth")).isFalse();
        assertThat(Json.mapper()
                        .<JsonNode>valueToTree(
                                platform.method(TrainingKind.GRPO).settings(effective)))
                .isEqualTo(effective);
        assertThatThrownBy(() -> platform.method(TrainingKind.GRPO)
                        .settings(Json.mapper().readTree("""
                        {"candidates": 1, "depth": 2, "rollout": {"temperature": 0, "x": 1},
                         "lora": {"target_modules": ["wat"]}, "optimizer": {"beta1": 1}}""")))
                .isInstanceOfSatisfying(
                        PlatformException.class,
                        failure -> assertThat(failure.errors())
                                .extracting(error -> error.pointer())
                                .contains(
                                        "/candidates",
                                        "/depth",
                                        "/rollout/temperature",
                                        "/rollout/x",
                                        "/lora/target_modules",
                                        "/optimizer/beta1"));
        assertThat(Map.of("kind", platform.method(TrainingKind.MULTISTEP).kind()))
                .containsEntry("kind", TrainingKind.MULTISTEP);
    }

    @Test
    void a_learner_is_closed_with_its_work() {
        LearningPlatform.Opened opened = platform.open(TrainingKind.GRPO, FAMILIES, SMALL);
        LearnerDouble learner = opened.learner();

        opened.work().close();

        assertThat(learner.closed).isTrue();
    }
}
