package org.harnesslearning.trainer.rollout;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class CurriculumTests {
    private final Curriculum curriculum = new Curriculum(List.of("a", "b", "c", "d", "e"), List.of("x", "y"), 42);

    @Test
    void every_family_comes_once_before_any_comes_again_and_the_order_changes() {
        Set<List<String>> orders = new HashSet<>();
        for (int epoch = 0; epoch < 6; epoch++) {
            List<String> order =
                    List.of(family(epoch, 0), family(epoch, 1), family(epoch, 2), family(epoch, 3), family(epoch, 4));
            assertThat(order).containsExactlyInAnyOrder("a", "b", "c", "d", "e");
            orders.add(order);
        }
        assertThat(orders).hasSizeGreaterThan(2);
    }

    private String family(int epoch, int place) {
        return curriculum.start(epoch * 5L + place).family();
    }

    @Test
    void starting_harnesses_take_turns_and_the_same_number_gives_the_same_state() {
        assertThat(curriculum.start(0).harness()).isEqualTo("x");
        assertThat(curriculum.start(5).harness()).isEqualTo("y");
        assertThat(new Curriculum(curriculum.families(), curriculum.harnesses(), 42).start(17))
                .isEqualTo(curriculum.start(17));
    }

    @Test
    void a_family_with_harnesses_of_its_own_begins_from_those_alone() {
        Curriculum own = new Curriculum(List.of("a", "b"), List.of("x"), Map.of("b", List.of("p", "q")), 1);
        Map<String, List<String>> starts = new TreeMap<>();
        for (int state = 0; state < 8; state++) {
            Curriculum.Start start = own.start(state);
            starts.computeIfAbsent(start.family(), family -> new ArrayList<>()).add(start.harness());
        }
        assertThat(starts).isEqualTo(Map.of("a", List.of("x", "x", "x", "x"), "b", List.of("p", "q", "p", "q")));
    }

    @Test
    void no_seed_of_questions_meets_that_of_any_split_of_another_group_and_no_sampling_seed_repeats() {
        Set<Long> items = new HashSet<>();
        Set<Long> samples = new HashSet<>();
        for (long number = 1; number <= 20_000; number++) {
            for (int split = 0; split < 3; split++) {
                assertThat(items.add(curriculum.itemSeed(number) + 1000L * split))
                        .isTrue();
            }
            assertThat(samples.add(curriculum.samplingSeed(number))).isTrue();
        }
        assertThat(items).allMatch(seed -> seed > 1_000_000 && seed <= Integer.MAX_VALUE);
        assertThat(samples).allMatch(seed -> seed >= 0 && seed <= Integer.MAX_VALUE);
    }
}
