package org.harnesslearning.contracts.outcome;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class OutcomeTest {
    @Test
    void an_infrastructure_code_is_never_an_invalid_edit_and_the_other_way_round() {
        assertThatThrownBy(() -> new Outcome.Invalid(OutcomeCode.SANDBOX_FAULT, "gone"))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Outcome.InfraFailure(OutcomeCode.NO_BLOCK, "none"))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void a_score_is_a_number_from_0_to_1_over_at_least_one_question() {
        assertThat(new Outcome.Scored(0.5, 0.5, List.of(1.0, 0.0)).n()).isEqualTo(2);
        assertThatThrownBy(() -> new Outcome.Scored(Double.NaN, 0, List.of(0.0)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Outcome.Scored(0, 0, List.of())).isInstanceOf(IllegalArgumentException.class);
    }
}
