package org.harnesslearning.proposer.adaptation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.harnesslearning.proposer.adaptation.SelectionRule.Scored;
import org.harnesslearning.proposer.settings.RunSettings.Selection;
import org.junit.jupiter.api.Test;

class SelectionRuleTests {
    private static String choose(Selection rule, double incumbent, Scored... candidates) {
        return SelectionRule.choose(rule, "parent", incumbent, List.of(candidates));
    }

    @Test
    void the_incumbent_goes_only_for_a_strictly_higher_mean() {
        assertThat(choose(Selection.KEEP_INCUMBENT, 0.5, new Scored(0, "a", 0.5)))
                .isEqualTo("parent");
        assertThat(choose(Selection.KEEP_INCUMBENT, 0.5, new Scored(0, "a", 0.4), new Scored(2, "b", 0.6)))
                .isEqualTo("b");
    }

    @Test
    void ties_between_candidates_go_to_the_lowest_index() {
        assertThat(choose(Selection.KEEP_INCUMBENT, 0.1, new Scored(1, "a", 0.6), new Scored(2, "b", 0.6)))
                .isEqualTo("a");
        assertThat(choose(Selection.BEST_OF_ROUND, 0.9, new Scored(1, "a", 0.6), new Scored(2, "b", 0.6)))
                .isEqualTo("a");
    }

    @Test
    void best_of_round_takes_a_worse_harness_and_without_any_the_incumbent_stays() {
        assertThat(choose(Selection.BEST_OF_ROUND, 0.9, new Scored(0, "a", 0.1)))
                .isEqualTo("a");
        assertThat(choose(Selection.BEST_OF_ROUND, 0.9)).isEqualTo("parent");
        assertThat(choose(Selection.KEEP_INCUMBENT, 0.9)).isEqualTo("parent");
    }
}
