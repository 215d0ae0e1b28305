package org.harnesslearning.tasks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Item.Origin;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.tasks.Family.Role;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReasoningGymTests {
    /** Questions repeat: item i of seed s asks the number (s + i) mod different. */
    private static ItemSource repeating(int different, List<String> asked) {
        return (seed, start, count) -> {
            asked.add(seed + ":" + start + "+" + count);
            return IntStream.range(start, start + count)
                    .mapToObj(i -> item("question " + (seed + i) % different, seed, i))
                    .toList();
        };
    }

    private static Item item(String question, long seed, int index) {
        return new Item(Hashes.item(question), question, List.of("a"), new Origin(seed, index));
    }

    @Test
    void there_are_26_training_families_of_which_5_are_withheld_and_21_unseen_ones() {
        assertThat(Families.all()).hasSize(47);
        assertThat(Families.of(Role.TRAIN)).hasSize(21);
        assertThat(Families.of(Role.WITHHELD))
                .extracting(Family::category)
                .containsExactlyInAnyOrder("games", "logic", "graphs", "algorithmic", "geometry");
        assertThat(Families.of(Role.UNSEEN)).hasSize(21);
        assertThat(Families.all().stream().map(Family::name).distinct()).hasSize(47);
        assertThat(List.of("chain_sum", "bitwise_arithmetic", "course_schedule", "calendar_arithmetic"))
                .allSatisfy(name -> assertThat(Families.get(name).role()).isEqualTo(Role.TRAIN));
    }

    @ParameterizedTest
    @CsvSource({
        "chainsum, chain_sum",
        "Chain-Sum, chain_sum",
        "sodoku, sudoku",
        "hanoi, tower_of_hanoi",
        "zebra, zebra_puzzles",
        "arithmetic, bitwise_arithmetic",
    })
    void an_unknown_family_is_refused_with_near_matches(String name, String near) {
        PlatformException e = catchThrowableOfType(PlatformException.class, () -> Families.get(name));
        assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_FAMILY);
        assertThat(e.errors().getFirst().pointer()).isEqualTo("/task/reasoning_gym/family");
        assertThat(e.getMessage()).contains(near);
    }

    @Test
    void a_name_unlike_any_gets_no_suggestion() {
        assertThat(catchThrowableOfType(PlatformException.class, () -> Families.get("xqzwv".repeat(9)))
                        .getMessage())
                .doesNotContain("did you mean");
    }

    @Test
    void splits_have_seeds_1000_apart_and_no_question_twice() {
        List<String> asked = new ArrayList<>();
        TaskItems items = ReasoningGym.split(42, new SplitSizes(4, 6, 8), repeating(1500, asked));
        assertThat(items.feedback()).extracting(Item::origin).contains(new Origin(42, 0), new Origin(42, 3));
        assertThat(items.dev()).extracting(Item::origin).contains(new Origin(1042, 0));
        assertThat(items.heldOut()).extracting(Item::origin).contains(new Origin(2042, 0));
        assertThat(items.all()).hasSize(18);
        assertThat(new HashSet<>(items.all().stream().map(Item::question).toList()))
                .hasSize(18);
        assertThat(asked).containsExactly("42:0+4", "1042:0+6", "2042:0+8");
    }

    @Test
    void repeated_questions_are_replaced_by_the_next_indices() {
        TaskItems items = ReasoningGym.split(0, new SplitSizes(5, 5, 5), repeating(20, new ArrayList<>()));
        // The seeds 0, 1000 and 2000 all ask 0, 1, 2, …: each split goes on where the last one stopped.
        assertThat(items.dev())
                .extracting(Item::origin)
                .containsExactly(
                        new Origin(1000, 5),
                        new Origin(1000, 6),
                        new Origin(1000, 7),
                        new Origin(1000, 8),
                        new Origin(1000, 9));
        assertThat(items.heldOut()).extracting(item -> item.question()).startsWith("question 10");
        assertThat(ReasoningGym.split(0, new SplitSizes(5, 5, 5), repeating(20, new ArrayList<>())))
                .isEqualTo(items);
    }

    @Test
    void a_family_with_too_few_questions_is_refused_in_bounded_time() {
        List<String> asked = new ArrayList<>();
        PlatformException e = catchThrowableOfType(
                PlatformException.class, () -> ReasoningGym.split(0, new SplitSizes(5, 5, 5), repeating(12, asked)));
        assertThat(e.errors().getFirst().pointer()).isEqualTo("/splits/held_out");
        assertThat(asked.size()).isLessThan(200);
    }

    @Test
    void sizes_and_seeds_are_checked() {
        PlatformException e = catchThrowableOfType(PlatformException.class, () -> new SplitSizes(0, 1001, -1));
        assertThat(e.errors())
                .extracting(error -> error.pointer())
                .containsExactly("/splits/feedback", "/splits/dev", "/splits/held_out");
        assertThat(catchThrowableOfType(
                                PlatformException.class,
                                () -> ReasoningGym.split(-1, SplitSizes.DEFAULTS, repeating(100, new ArrayList<>())))
                        .errors()
                        .getFirst()
                        .pointer())
                .isEqualTo("/task/reasoning_gym/seed");
    }

    @Test
    void the_scorer_names_family_and_configuration() {
        ScorerRef ref = ReasoningGym.scorer(Families.get("chain_sum"), Map.of("min_terms", 3));
        assertThat(ref.name()).isEqualTo("reasoning_gym");
        assertThat(ref.options()).isEqualTo(Map.of("family", "chain_sum", "config", Map.of("min_terms", 3)));
    }
}
