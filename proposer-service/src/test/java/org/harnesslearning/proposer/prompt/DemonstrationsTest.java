package org.harnesslearning.proposer.prompt;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.harnesslearning.proposer.edit.EditCode;
import org.harnesslearning.proposer.edit.EditOptions;
import org.harnesslearning.proposer.edit.EditResult;
import org.harnesslearning.proposer.edit.FinishReason;
import org.harnesslearning.proposer.edit.SearchReplace;
import org.harnesslearning.proposer.edit.Tier;
import org.harnesslearning.proposer.edit.WholeFile;
import org.harnesslearning.tasks.SeedHarness;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DemonstrationsTest {
    private static final Set<String> TRAINING = Set.of(
            "maze",
            "sudoku",
            "tower_of_hanoi",
            "countdown",
            "n_queens",
            "kakurasu",
            "knights_knaves",
            "syllogism",
            "circuit_logic",
            "shortest_path",
            "course_schedule",
            "family_relationships",
            "base_conversion",
            "caesar_cipher",
            "spiral_matrix",
            "word_ladder",
            "binary_matrix",
            "string_insertion",
            "chain_sum",
            "calendar_arithmetic",
            "bitwise_arithmetic",
            "simple_equations",
            "number_sequence",
            "simple_geometry",
            "list_functions",
            "arc_1d");

    private static final Demonstrations DEFAULT =
            Demonstrations.named("default").orElseThrow();

    static List<Demonstration> all() {
        return Stream.of("default-v1", "programs-v1", "varied-v1")
                .flatMap(name -> Demonstrations.named(name).orElseThrow().all().stream())
                .toList();
    }

    @ParameterizedTest
    @MethodSource("all")
    void theReplyTurnsTheSeedIntoTheResult(Demonstration demonstration) {
        EditResult edit = SearchReplace.apply(
                demonstration.seed(), demonstration.reply(), FinishReason.STOP, EditOptions.DEFAULT);
        assertThat(edit.code()).as(edit.message()).isEqualTo(EditCode.OK);
        assertThat(edit.tier()).isEqualTo(Tier.EXACT);
        assertThat(edit.result()).isEqualTo(demonstration.result());
        EditResult whole = WholeFile.apply(
                demonstration.seed(), WholeFile.render(demonstration.result()), FinishReason.STOP, EditOptions.DEFAULT);
        assertThat(whole.result()).isEqualTo(demonstration.result());
    }

    @ParameterizedTest
    @MethodSource("all")
    void itIsAboutATrainingFamilyAndShort(Demonstration demonstration) {
        assertThat(TRAINING).contains(demonstration.family());
        int characters = demonstration.task().length()
                + demonstration.seed().length()
                + demonstration.report().length()
                + demonstration.reply().length();
        assertThat(characters).isLessThan(2_800);
        assertThat(demonstration.report()).startsWith("Mean score ");
    }

    @Test
    void noRunSeesADemonstrationOnItsOwnFamily() {
        for (String family : TRAINING) {
            List<Demonstration> eligible = DEFAULT.forFamily(family);
            assertThat(eligible).extracting(Demonstration::family).doesNotContain(family);
            assertThat(eligible)
                    .extracting(Demonstration::name)
                    .doesNotHaveDuplicates()
                    .contains("program", "solve");
        }
        assertThat(DEFAULT.forFamily("base_conversion"))
                .filteredOn(demonstration -> demonstration.name().equals("program"))
                .extracting(Demonstration::family)
                .containsExactly("simple_equations");
        assertThat(DEFAULT.forFamily(null)).hasSize(4);
        Demonstrations programs = Demonstrations.named("programs-v1").orElseThrow();
        assertThat(TRAINING)
                .allSatisfy(family -> assertThat(programs.forFamily(family))
                        .hasSize(2)
                        .extracting(Demonstration::family)
                        .doesNotContain(family));
        Demonstrations varied = Demonstrations.named("varied-v1").orElseThrow();
        assertThat(TRAINING)
                .allSatisfy(family -> assertThat(varied.forFamily(family))
                        .hasSizeBetween(5, 6)
                        .extracting(Demonstration::family)
                        .doesNotContain(family));
        assertThat(varied.all())
                .as("edits of the minimal harness and of others")
                .filteredOn(demonstration -> !demonstration.seed().equals(SeedHarness.MINIMAL))
                .hasSize(3);
    }

    @Test
    void candidatesTakeTurnsAndRoundsMoveOn() {
        List<String> names =
                DEFAULT.forFamily("chain_sum").stream().map(Demonstration::name).toList();
        for (int round = 1; round < 6; round++) {
            int current = round;
            assertThat(IntStream.range(0, 6)
                            .mapToObj(candidate -> DEFAULT.of("chain_sum", candidate, current)
                                    .orElseThrow()
                                    .name()))
                    .containsExactlyElementsOf(IntStream.range(0, 6)
                            .mapToObj(candidate -> names.get((candidate + current) % names.size()))
                            .toList());
        }
        assertThat(Demonstrations.NONE.of("chain_sum", 0, 1)).isEmpty();
    }

    @Test
    void setsAreFoundByName() {
        assertThat(Demonstrations.named("default-v1")).contains(DEFAULT);
        assertThat(Demonstrations.named("none")).contains(Demonstrations.NONE);
        assertThat(Demonstrations.named("../secrets")).isEmpty();
        assertThat(Demonstrations.read(
                        SharedData.root().resolve("proposer-service/src/main/resources/demonstrations/default-v1")))
                .isEqualTo(DEFAULT);
    }
}
