package org.harnesslearning.trainer.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.harnesslearning.trainer.optimizer.LearningRate.Schedule;
import org.junit.jupiter.api.Test;

class LearningRateTest {

    @Test
    void rises_in_the_warm_up_and_then_stays() {
        LearningRate rate = new LearningRate(Schedule.CONSTANT, 0.8, 0, 4, 0);
        assertThat(rate.at(0)).isEqualTo(0.2);
        assertThat(rate.at(2)).isCloseTo(0.6, within(1e-12));
        assertThat(rate.at(3)).isEqualTo(0.8);
        assertThat(rate.at(1_000_000)).isEqualTo(0.8);
        assertThat(LearningRate.constant(0.3).at(0)).isEqualTo(0.3);
    }

    @Test
    void falls_along_half_a_cosine_wave_to_the_floor() {
        LearningRate rate = new LearningRate(Schedule.COSINE, 1, 0.1, 10, 110);
        assertThat(rate.at(10)).isEqualTo(1);
        assertThat(rate.at(35)).isCloseTo(0.1 + 0.9 * (1 + Math.sqrt(0.5)) / 2, within(1e-12));
        assertThat(rate.at(60)).isCloseTo(0.55, within(1e-12));
        assertThat(rate.at(110)).isCloseTo(0.1, within(1e-12));
        assertThat(rate.at(500)).isCloseTo(0.1, within(1e-12));
    }

    @Test
    void falls_along_a_line_to_the_floor() {
        LearningRate rate = new LearningRate(Schedule.LINEAR, 1, 0, 0, 4);
        assertThat(rate.at(0)).isEqualTo(1);
        assertThat(rate.at(1)).isEqualTo(0.75);
        assertThat(rate.at(4)).isZero();
        assertThat(rate.at(9)).isZero();
    }

    @Test
    void refuses_what_makes_no_sense() {
        assertThatThrownBy(() -> new LearningRate(Schedule.COSINE, 1, 0, 20, 10))
                .hasMessageContaining("warm-up");
        assertThatThrownBy(() -> new LearningRate(Schedule.LINEAR, 1, 2, 0, 10)).hasMessageContaining("learning rate");
        assertThatThrownBy(() -> LearningRate.constant(Double.NaN)).hasMessageContaining("learning rate");
    }
}
