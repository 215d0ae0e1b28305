package org.harnesslearning.benchmarks.learning;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.tasks.SeedHarness;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.node.ObjectNode;

/** Tables from raw files, checked against sums by hand. */
class ReportTest {
    @TempDir
    private Path folder;

    private RawFile outcomes;

    @BeforeEach
    void open() {
        outcomes = new RawFile(folder, Experiment.OUTCOMES);
    }

    private static ObjectNode json(String text, Object... values) {
        return (ObjectNode) Json.mapper().readTree(text.formatted(values));
    }

    private void proposal(String arm, String family, int index, String outcome, double mean) {
        ObjectNode line = json(
                "{'type': 'proposal', 'set': 'unseen', 'solver': 'm', 'arm': '%s', 'family': '%s', 'repeat': 0, 'index': %d,"
                                .replace('\'', '"')
                        + "\"outcome\": \"%s\", \"harness\": \"h%d\", \"diff\": \"+ %s\", \"scores\": [{}, {}]}",
                arm,
                family,
                index,
                outcome,
                index,
                family);
        if (outcome.equals("scored")) {
            line.put("mean", mean).put("strict", mean >= 1 ? 1 : 0);
        } else {
            line.put("code", "NO_BLOCK");
        }
        outcomes.add(List.of(line));
    }

    private void scoring(String name, String family, String split, int scoring, double... scores) {
        ObjectNode line = json(
                "{\"type\": \"scoring\", \"set\": \"unseen\", \"solver\": \"m\", \"name\": \"%s\", \"family\": \"%s\","
                        + " \"split\": \"%s\", \"scoring\": %d}",
                name, family, split, scoring);
        for (double score : scores) {
            line.withArray("scores").addObject().put("score", score).put("strict", score >= 1);
        }
        outcomes.add(List.of(line));
    }

    private List<String> row(String text, String heading, String name) {
        String part = text.substring(text.indexOf(heading));
        return part.lines()
                .filter(line -> line.startsWith("| " + name + " |"))
                .findFirst()
                .map(line -> List.of(line.substring(2, line.length() - 2).split(" \\| ")))
                .orElseThrow();
    }

    @Test
    void invalid_edits_count_zero_and_lost_ones_not_at_all() {
        proposal("untrained", "dice", 0, "invalid", 0);
        proposal("untrained", "dice", 1, "scored", 0.5);
        proposal("untrained", "ab", 0, "scored", 1);
        proposal("untrained", "ab", 1, "scored", 0.02);
        proposal("untrained", "ab", 2, "infra_failure", 0);
        List<String> row = row(new Report(folder).text(), "### Proposals", "untrained");
        assertThat(row.get(1)).isEqualTo("2");
        assertThat(row.get(2)).isEqualTo("4");
        assertThat(row.get(3)).isEqualTo("1");
        assertThat(row.get(4)).startsWith("75 % (");
        // Mean of the family means 0.25 and 0.51.
        assertThat(row.get(6)).startsWith("0.380 (0.250 to 0.510)");
        assertThat(row.get(7)).isEqualTo("0.250");
        assertThat(row.get(8)).isEqualTo("50 %");
        assertThat(row.get(9)).startsWith("0.750 (");
    }

    @Test
    void arms_are_compared_on_the_families_that_all_of_them_have() {
        for (String family : List.of("dice", "ab", "jugs")) {
            proposal("untrained", family, 0, "scored", 0.1);
        }
        proposal("grpo", "dice", 0, "scored", 0.6);
        proposal("grpo", "ab", 0, "scored", 0.8);
        String text = new Report(folder).text();
        assertThat(row(text, "### Proposals", "untrained").get(1)).isEqualTo("2");
        assertThat(row(text, "### Proposals", "grpo").get(1)).isEqualTo("2");
        assertThat(row(text, "row minus column", "grpo").get(1)).startsWith("0.600 (0.500 to 0.700)");
        assertThat(text.indexOf("| untrained |")).isLessThan(text.indexOf("| grpo |"));
    }

    @Test
    void families_that_no_hand_written_harness_reaches_are_left_out_of_the_second_table() {
        for (String family : List.of("dice", "ab")) {
            proposal("sft", family, 0, "scored", family.equals("ab") ? 0.9 : 0);
            scoring("seed", family, "dev", 0, 0, 0);
            scoring("program", family, "dev", 0, family.equals("ab") ? 1 : 0, 0);
        }
        String text = new Report(folder).text();
        assertThat(row(text, "Only the families where", "sft").get(6)).startsWith("0.900 (");
        assertThat(row(text, "### Harnesses that were not learned", "program").get(4))
                .isEqualTo("1");
    }

    @Test
    void two_scorings_of_a_harness_give_the_noise() {
        scoring("program", "ab", "dev", 0, 1, 0, 0.5, 0);
        scoring("program", "ab", "dev", 1, 0, 0, 0.5, 1);
        List<String> row = row(new Report(folder).text(), "### Harnesses that were not learned", "program");
        assertThat(row.get(2)).startsWith("0.375 (");
        assertThat(row.get(3)).isEqualTo("0.250");
        assertThat(row.get(6)).isEqualTo("0.500");
        assertThat(row.get(7)).isEqualTo("0.000");
    }

    @Test
    void a_chain_stands_beside_the_best_of_independent_edits() {
        proposal("grpo", "ab", 0, "scored", 0.4);
        proposal("grpo", "ab", 1, "scored", 0.7);
        scoring("best of grpo", "ab", "held_out", 0, 0.5, 0.7);
        outcomes.add(List.of(json("""
                {"type": "chain", "set": "unseen", "solver": "m", "arm": "grpo", "family": "ab",
                 "baseline": {"score": {"mean": 0.1}},
                 "rounds": [{"index": 1, "parent": "s", "chosen": "a", "candidates": [{"harness": "a", "mean": 0.5}]},
                            {"index": 2, "parent": "a", "chosen": "a", "candidates": [{"harness": "b", "mean": 0.2}]},
                            {"index": 3, "parent": "a", "chosen": "c", "candidates": [{"harness": "c", "mean": 0.9}]}],
                 "result": {"held_out": {"seed": {"mean": 0.2}, "result": {"mean": 0.8}}}}""")));
        List<String> row = row(new Report(folder).text(), "### Sequential", "grpo");
        assertThat(row.get(2)).isEqualTo("0.100 → 0.500 → 0.500 → 0.900");
        assertThat(row.get(3)).isEqualTo("0.700");
        assertThat(row.get(4)).startsWith("0.200 (");
        assertThat(row.get(5)).isEqualTo("0.200");
        assertThat(row.get(6)).startsWith("0.800 (");
        assertThat(row.get(7)).isEqualTo("0.600");
        assertThat(row.get(8)).startsWith("0.200 (");
    }

    @Test
    void the_corpus_is_counted_by_pass_and_reason() {
        RawFile corpus = new RawFile(folder, Experiment.CORPUS);
        for (String row : List.of(
                "{\"family\": \"maze\", \"reason\": null, \"demonstration\": \"program\"}",
                "{\"family\": \"maze\", \"reason\": \"no_gain\"}",
                "{\"family\": \"sudoku\", \"reason\": \"no_gain\"}")) {
            corpus.add(List.of(json("{\"type\": \"edit\", \"pass\": 1, \"run\": \"trn_1\", \"row\": %s}", row)));
        }
        List<String> row = row(new Report(folder).text(), "## Corpus", "1");
        assertThat(row).containsExactly("1", "2", "3", "1", "1", "program 1", "no_gain 2");
    }

    private void group(int step, String family, String harness, String samples) {
        ObjectNode line = json("""
                {"type": "group", "stage": "grpo", "step": %d, "family": "%s", "harness": "%s", "samples": %s}""", step, family, harness, samples);
        new RawFile(folder, Experiment.SAMPLES).add(List.of(line));
    }

    private static String scored(double reward, int tokens, String harness) {
        return "{\"outcome\": \"scored\", \"valid\": true, \"reward\": %s, \"tokens\": %d, \"harness\": \"%s\"}"
                .formatted(reward, tokens, harness);
    }

    @Test
    void samples_are_told_apart_by_their_state_and_by_third_of_the_run() {
        String minimal = Hashes.harness(SeedHarness.MINIMAL);
        String vote =
                Hashes.harness(Objects.requireNonNull(Harnesses.demonstrations().get("vote")));
        String invalid =
                "{\"outcome\": \"invalid\", \"code\": \"NO_BLOCK\", \"valid\": false, \"reward\": 0, \"tokens\": 40}";
        String lost = "{\"outcome\": \"infra_failure\", \"valid\": false, \"reward\": null, \"tokens\": 10}";
        group(1, "ab", minimal, "[%s, %s]".formatted(scored(0.5, 100, vote), invalid));
        group(1, "ab", "sha256:0", "[%s, %s]".formatted(scored(1, 20, "sha256:1"), lost));
        group(1, "dice", minimal, "[]");
        group(2, "dice", minimal, "[%s, %s]".formatted(invalid, invalid));
        group(3, "ab", minimal, "[%s, %s]".formatted(scored(0.75, 10, "sha256:1"), scored(1, 30, vote)));
        String text = new Report(folder).text();
        assertThat(row(text, "## Samples: grpo", "1"))
                .containsExactly("1", "2", "4", "1", "2", "0.250", "50 %", "1", "1.000", "100 %", "43");
        assertThat(row(text, "## Samples: grpo", "2"))
                .containsExactly("2", "1", "2", "0", "2", "0.000", "0 %", "0", "–", "–", "40");
        // Four groups have samples: one, one and two make the thirds.
        assertThat(row(text, "*Like a demonstration*", "first"))
                .containsExactly("first", "1", "2", "50 %", "NO_BLOCK 1", "50 %", "vote 1", "70");
        assertThat(row(text, "*Like a demonstration*", "third"))
                .containsExactly("third", "2", "4", "50 %", "NO_BLOCK 2", "25 %", "vote 1", "30");
        // Of the minimal harness there are three groups.
        assertThat(row(text, "Mean reward of edits", "ab")).containsExactly("ab", "1", "0.250", "1", "0.875", "0.625");
        assertThat(row(text, "Mean reward of edits", "*all*"))
                .containsExactly("*all*", "1", "0.250", "1", "0.875", "0.625");
    }

    @Test
    void a_family_that_one_third_lacks_is_not_compared() {
        String minimal = Hashes.harness(SeedHarness.MINIMAL);
        group(1, "ab", minimal, "[%s]".formatted(scored(0.5, 1, "sha256:1")));
        group(2, "ab", minimal, "[%s]".formatted(scored(0.5, 1, "sha256:1")));
        group(3, "dice", minimal, "[%s]".formatted(scored(0.25, 1, "sha256:1")));
        String text = new Report(folder).text();
        assertThat(row(text, "Mean reward of edits", "ab")).containsExactly("ab", "1", "0.500", "0", "–", "–");
        assertThat(row(text, "Mean reward of edits", "dice")).containsExactly("dice", "0", "–", "1", "0.250", "–");
        assertThat(text).doesNotContain("| *all* |");
    }
}
