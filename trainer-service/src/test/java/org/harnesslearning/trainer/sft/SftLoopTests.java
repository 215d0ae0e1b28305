package org.harnesslearning.trainer.sft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.sample.CorpusRow;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.trainer.rollout.LearningPlatform;
import org.harnesslearning.trainer.rollout.ProposerDouble.Reply;
import org.harnesslearning.trainer.run.StepReport;
import org.harnesslearning.trainer.run.TrainingContext;
import org.harnesslearning.trainer.run.TrainingKind;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** From teachers' edits over Postgres to steps; the model's tokenizer is real, its weights are one number. */
@RequiresPostgres
@RequiresModel("smollm2-135m")
class SftLoopTests {
    private static final List<String> FAMILIES = List.of("chain_sum", "maze");
    private static final String SETTINGS = """
            {"teachers": [{"model": "big"}, {"model": "small", "demonstrations": "none"}], "states": 2, "candidates": 4,
             "held_out_share": 0, "epochs": 3, "batch_size": 3, "optimizer": {"learning_rate": 0.2}}""";

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
        platform.proposer.revised.clear();
        platform.proposer.evaluated.clear();
        platform.proposer.noise = 0;
        platform.proposer.pausedFamily = "";
        platform.proposer.script = (request, candidate) -> switch (candidate) {
            case 0 -> Reply.scored(0.5).text("good", "stop");
            case 1 ->
                Reply.scored(0.75)
                        .text("better, by " + request.at("/proposer/model").asString(), "stop");
            case 2 -> Reply.invalid(OutcomeCode.NO_BLOCK);
            default -> Reply.scored(0.0).text("no use", "stop");
        };
    }

    @Test
    void a_corpus_is_gathered_executed_filtered_and_stored_with_its_provenance() {
        LearningPlatform.Opened opened = platform.open(TrainingKind.SFT, FAMILIES, SETTINGS);

        StepReport report = opened.work().step().orElseThrow();
        opened.work().close();

        // 2 states × 2 teachers; "good" of the second teacher is a duplicate of the first one's.
        assertThat(platform.corpus.counts(opened.run()))
                .isEqualTo(Map.of("accepted", 6L, "duplicate", 2L, "invalid_no_block", 4L, "no_gain", 4L));
        assertThat(report.counts()).containsEntry("corpus_accepted", 6L).containsEntry("corpus_duplicate", 2L);
        List<CorpusRow> rows = platform.corpus.all(opened.run());
        assertThat(rows).hasSize(16);
        CorpusRow first = rows.getFirst();
        assertThat(first.teacher()).isEqualTo("big");
        assertThat(first.run()).startsWith("rev_");
        assertThat(first.promptVersion()).isEqualTo("p1");
        assertThat(first.score()).isEqualTo(0.5);
        assertThat(first.parentScore()).isZero();
        assertThat(first.fold()).isEqualTo(CorpusRow.Fold.TRAIN);
        assertThat(first.messages()).as("the prompt without demonstration").hasSize(2);
        assertThat(first.promptTokenIds()).hasSizeGreaterThan(10);
        assertThat(rows.get(2).accepted()).isFalse();
        assertThat(rows.get(2).promptTokenIds()).isNull();
        assertThat(platform.proposer.revised)
                .extracting(request -> request.at("/proposer/demonstrations").asString())
                .containsExactlyInAnyOrder("default", "default", "none", "none");
        assertThat(platform.proposer.evaluated).as("each parent twice").hasSize(8);
        assertThat(opened.learner().trained.getFirst()).hasSize(3);
    }

    @Test
    void a_gain_within_the_noise_of_two_scorings_is_no_gain() {
        platform.proposer.script =
                (request, candidate) -> Reply.scored(0.5 + 0.125 * candidate).text("e" + candidate, "stop");
        platform.proposer.noise = 0.3;
        String harness = "def run(question, env):\n    # level: 0.375\n    return env.llm(question)\n";
        platform.jdbc
                .sql(
                        "insert into harness (hash, kind, source, created_at) values (?, 'program', ?, now()) on conflict do nothing")
                .params(Hashes.harness(harness), harness)
                .update();
        LearningPlatform.Opened opened =
                platform.open(TrainingKind.SFT, FAMILIES, """
                {"teachers": [{"model": "big"}], "states": 1, "candidates": 4, "held_out_share": 0, "harnesses": ["%s"]}""".formatted(Hashes.harness(harness)));

        opened.work().step();
        opened.work().close();

        // Parent 0.375, noise 0.3: only 0.75 and 0.875 are more than 0.675.
        assertThat(platform.corpus.counts(opened.run())).isEqualTo(Map.of("accepted", 2L, "no_gain", 2L));
    }

    @Test
    void every_edit_is_trained_on_once_an_epoch_and_the_loss_falls() {
        LearningPlatform.Opened opened = platform.open(TrainingKind.SFT, FAMILIES, SETTINGS);
        List<Double> losses = new ArrayList<>();
        Optional<StepReport> step = opened.work().step();
        while (step.isPresent()) {
            losses.add(step.get().metrics().get(StepReport.LOSS));
            step = opened.work().step();
        }

        assertThat(losses).as("3 epochs of 2 batches").hasSize(6);
        assertThat(losses.getLast()).isLessThan(losses.getFirst());
        for (int epoch = 0; epoch < 3; epoch++) {
            List<String> seen = new ArrayList<>();
            opened.learner()
                    .trained
                    .subList(2 * epoch, 2 * epoch + 2)
                    .forEach(batch -> batch.forEach(completion -> seen.add(Arrays.toString(completion))));
            assertThat(seen).hasSize(6);
            assertThat(Set.copyOf(seen)).as("'good' comes once a state").hasSize(3);
        }
        opened.work().close();
    }

    @Test
    void a_resumed_run_goes_on_with_the_same_weights_and_asks_no_teacher_again() throws IOException {
        LearningPlatform.Opened whole = platform.open(TrainingKind.SFT, FAMILIES, SETTINGS);
        while (whole.work().step().isPresent()) {
            assertThat(whole.learner().trained.size()).isLessThan(10);
        }
        LearningPlatform.Opened first = platform.open(TrainingKind.SFT, FAMILIES, SETTINGS);
        first.work().step();
        first.work().step();
        first.work().step();
        Path checkpoint = Files.createDirectory(folder.resolve("checkpoint"));
        first.work().save(checkpoint);
        first.work().step();
        first.work().close();
        platform.proposer.revised.clear();

        LearningPlatform.Opened resumed = platform.again(first);
        resumed.work().restore(checkpoint);
        List<Long> numbers = new ArrayList<>();
        Optional<StepReport> step = resumed.work().step();
        while (step.isPresent()) {
            numbers.add(step.get().step());
            step = resumed.work().step();
        }

        assertThat(numbers).containsExactly(4L, 5L, 6L);
        assertThat(resumed.learner().weight()).isEqualTo(whole.learner().weight());
        assertThat(platform.proposer.revised).isEmpty();
        resumed.work().close();
        whole.work().close();
    }

    @Test
    void the_held_out_loss_is_taken_on_states_of_their_own_and_ends_the_run_when_it_gets_no_better() {
        LearningPlatform.Opened opened =
                platform.open(TrainingKind.SFT, List.of("chain_sum", "maze", "sudoku", "n_queens", "syllogism"), """
                {"teachers": [{"model": "big"}], "states": 5, "candidates": 2, "held_out_share": 0.5, "epochs": 1000,
                 "batch_size": 1, "evaluate_every": 1, "patience": 2, "optimizer": {"learning_rate": 0, "schedule": "constant"}}""");

        List<StepReport> reports = new ArrayList<>();
        Optional<StepReport> step = opened.work().step();
        while (step.isPresent()) {
            reports.add(step.get());
            step = opened.work().step();
        }
        opened.work().close();

        assertThat(reports).as("the first look is the best, two more are not").hasSize(3);
        assertThat(reports).allSatisfy(report -> assertThat(report.metrics()).containsKey(StepReport.HELD_OUT_LOSS));
        List<String> train = families(opened.run(), CorpusRow.Fold.TRAIN);
        List<String> heldOut = families(opened.run(), CorpusRow.Fold.HELD_OUT);
        assertThat(train).isNotEmpty().doesNotContainAnyElementsOf(heldOut);
        assertThat(heldOut).isNotEmpty();
    }

    private static List<String> families(String run, CorpusRow.Fold fold) {
        return platform.corpus.accepted(run, fold).stream()
                .map(CorpusRow::family)
                .distinct()
                .toList();
    }

    @Test
    void a_corpus_of_an_earlier_run_is_used_again_and_one_without_accepted_edits_ends_the_run() {
        LearningPlatform.Opened opened = platform.open(TrainingKind.SFT, FAMILIES, SETTINGS);
        opened.work().step();
        opened.work().close();
        platform.proposer.revised.clear();
        LearningPlatform.Opened second =
                platform.open(TrainingKind.SFT, FAMILIES, "{\"corpus\": \"" + opened.run() + "\", \"batch_size\": 6}");

        assertThat(second.work().step().orElseThrow().counts()).containsEntry("samples_trained", 6L);
        second.work().close();
        assertThat(platform.proposer.revised).isEmpty();

        platform.proposer.script = (request, candidate) ->
                Reply.scored(0.5).ending(CandidateOutcome.INFRA_FAILURE, OutcomeCode.SANDBOX_FAULT);
        LearningPlatform.Opened empty = platform.open(TrainingKind.SFT, FAMILIES, SETTINGS);
        assertThatThrownBy(() -> empty.work().step())
                .hasMessageContaining("no edit")
                .hasMessageContaining("infra_failure=16");
        empty.work().close();
    }

    @Test
    void edits_far_from_the_best_of_their_state_are_left_out() {
        LearningPlatform.Opened opened = platform.open(TrainingKind.SFT, FAMILIES, SETTINGS);
        opened.work().step();
        opened.work().close();
        // Accepted are 0.5 once and 0.75 twice in each of two states; 0.5 is two thirds of 0.75.
        for (Map.Entry<String, Long> share : Map.of("0.66", 6L, "0.67", 4L).entrySet()) {
            LearningPlatform.Opened second =
                    platform.open(TrainingKind.SFT, FAMILIES, """
                    {"corpus": "%s", "batch_size": 6, "min_share_of_best": %s}""".formatted(opened.run(), share.getKey()));

            assertThat(second.work().step().orElseThrow().counts())
                    .as(share.getKey())
                    .containsEntry("samples_trained", share.getValue())
                    .containsEntry("corpus_used", share.getValue());
            second.work().close();
        }
    }

    @Test
    void a_used_up_budget_ends_the_gathering_and_what_there_is_is_trained_on() {
        LearningPlatform.Opened opened =
                platform.open(TrainingKind.SFT, FAMILIES, """
                {"teachers": [{"model": "big"}], "states": 20, "candidates": 4, "groups_in_flight": 1, "held_out_share": 0}""", new TrainingContext.Budget(100, 3600, 1, 1_000_000));

        assertThat(opened.work().step()).isPresent();
        opened.work().close();

        assertThat(platform.proposer.revised)
                .as("those begun before any call was counted")
                .hasSize(2);
        assertThat(platform.corpus.all(opened.run())).hasSize(8);
        assertThat(opened.desk().events).contains(Map.entry("corpus.cut", Map.of("states_left", 18)));
    }

    @Test
    void failing_teachers_stop_the_run_with_a_reason_and_are_asked_again_afterwards() {
        platform.proposer.pausedFamily = "maze";
        LearningPlatform.Opened opened = platform.open(TrainingKind.SFT, List.of("maze"), """
                {"teachers": [{"model": "big"}], "states": 3, "candidates": 4, "failures_in_row": 2, "held_out_share": 0}""");

        assertThatThrownBy(() -> opened.work().step())
                .isInstanceOfSatisfying(
                        PlatformException.class,
                        failure -> assertThat(failure.code().type()).isEqualTo(ErrorType.RESOURCES))
                .hasMessageContaining(" is paused: the model is away");
        opened.work().close();
        platform.proposer.pausedFamily = "";
        LearningPlatform.Opened again = platform.again(opened);

        assertThat(again.work().step().orElseThrow().counts())
                .as("three states of one family and harness, with two edits that are alike")
                .containsEntry("corpus_accepted", 2L)
                .containsEntry("corpus_duplicate", 4L);
        again.work().close();
    }

    @Test
    void settings_name_every_fault() {
        assertThatThrownBy(() ->
                        platform.method(TrainingKind.SFT).settings(Json.mapper().readTree("{}")))
                .isInstanceOfSatisfying(
                        PlatformException.class,
                        failure -> assertThat(failure.errors())
                                .extracting(error -> error.pointer())
                                .containsExactly("/teachers"));
        assertThatThrownBy(() ->
                        platform.method(TrainingKind.SFT).settings(Json.mapper().readTree("""
                        {"teachers": [{"model": "a", "x": 1}, {}], "epochs": -1, "corpus": "trn_none"}""")))
                .isInstanceOfSatisfying(
                        PlatformException.class,
                        failure -> assertThat(failure.errors())
                                .extracting(error -> error.pointer())
                                .contains("/teachers/0/x", "/teachers/1/model", "/epochs"));
        JsonNode effective = Json.mapper()
                .valueToTree(
                        platform.method(TrainingKind.SFT).settings(Json.mapper().readTree(SETTINGS)));
        assertThat(Json.mapper()
                        .<JsonNode>valueToTree(platform.method(TrainingKind.SFT).settings(effective)))
                .isEqualTo(effective);
    }
}
