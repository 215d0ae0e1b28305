package org.harnesslearning.standalone.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.harnesslearning.contracts.json.Json;
import org.junit.jupiter.api.Test;

class EstimateTest {
    private static final Estimate.Plan DEFAULTS = new Estimate.Plan(2, 3, 4, 6, 12);

    private static Estimate estimate(Estimate.Plan plan, double seconds) {
        return Estimate.of(
                plan, 2, seconds, Json.mapper().readTree("{\"prompt_tokens\":150,\"completion_tokens\":250}"));
    }

    @Test
    void a_slower_machine_takes_longer_in_proportion() {
        Estimate fast = estimate(DEFAULTS, 10);
        Estimate slow = estimate(DEFAULTS, 20);
        assertThat(slow.highMinutes()).isCloseTo(2 * fast.highMinutes(), org.assertj.core.data.Offset.offset(1e-9));
        assertThat(fast.lowMinutes()).isLessThan(fast.highMinutes());
    }

    @Test
    void more_work_takes_longer() {
        assertThat(estimate(new Estimate.Plan(4, 3, 4, 6, 12), 10).lowMinutes())
                .isGreaterThan(estimate(DEFAULTS, 10).lowMinutes());
        assertThat(estimate(new Estimate.Plan(2, 3, 4, 6, 24), 10).lowMinutes())
                .isGreaterThan(estimate(DEFAULTS, 10).lowMinutes());
    }

    @Test
    void reads_as_minutes_and_never_as_none() {
        assertThat(estimate(DEFAULTS, 0.001).toString()).isEqualTo("1 to 1 minutes");
    }
}
