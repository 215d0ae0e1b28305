package org.harnesslearning.tasks.statistics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Reference values: the exact bootstrap distribution is binomial for 0/1 scores; Wilson's bounds from Python's statistics. */
class StatisticsTests {
    private static List<Double> ones(int ones, int n) {
        List<Double> values = new ArrayList<>(Collections.nCopies(ones, 1.0));
        values.addAll(Collections.nCopies(n - ones, 0.0));
        return values;
    }

    @Test
    void bootstrap_bounds_are_the_quantiles_of_the_exact_distribution() {
        assertThat(Bootstrap.ofMean(ones(9, 12), 0.95, 1)).isEqualTo(new Interval(0.95, 0.5, 1.0));
        assertThat(Bootstrap.ofMean(ones(1, 4), 0.95, 7)).isEqualTo(new Interval(0.95, 0.0, 0.75));
        assertThat(Bootstrap.ofMean(ones(9, 12), 0.9, 3).low()).isEqualTo(0.5, within(0.0001));
    }

    @Test
    void equal_seeds_give_equal_intervals_and_constant_scores_no_width() {
        List<Double> values = new Random(3).doubles(30).boxed().toList();
        assertThat(Bootstrap.ofMean(values, 0.95, 5)).isEqualTo(Bootstrap.ofMean(values, 0.95, 5));
        assertThat(Bootstrap.ofMean(values, 0.95, 5)).isNotEqualTo(Bootstrap.ofMean(values, 0.95, 6));
        Interval constant = Bootstrap.ofMean(List.of(0.5, 0.5, 0.5), 0.95, 1);
        assertThat(constant.low()).isEqualTo(constant.high()).isEqualTo(0.5);
        assertThatThrownBy(() -> Bootstrap.ofMean(List.of(), 0.95, 1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void quantiles_interpolate_between_order_statistics() {
        assertThat(Bootstrap.quantile(new double[] {1, 2, 3, 4}, 0.5)).isEqualTo(2.5);
        assertThat(Bootstrap.quantile(new double[] {1, 2, 3, 4}, 1)).isEqualTo(4);
    }

    @Test
    void wilson_bounds_match_reference_values() {
        check(0, 24, 0.95, 0.0, 0.13797620467498012);
        check(24, 24, 0.95, 0.8620237953250198, 1.0);
        check(9, 12, 0.95, 0.4676946650664344, 0.9110583316059453);
        check(3, 10, 0.9, 0.12687658390319792, 0.5583002041301648);
        check(1, 1, 0.99, 0.13097754328018585, 1.0);
    }

    private static void check(int successes, int n, double level, double low, double high) {
        Interval interval = Wilson.interval(successes, n, level);
        assertThat(interval.low()).isEqualTo(low, within(1e-7));
        assertThat(interval.high()).isEqualTo(high, within(1e-7));
    }

    @Test
    void normal_quantiles_match_reference_values() {
        assertThat(Wilson.normalQuantile(0.975)).isEqualTo(1.9599639845400536, within(1e-8));
        assertThat(Wilson.normalQuantile(0.999)).isEqualTo(3.090232306167813, within(1e-8));
        assertThat(Wilson.normalQuantile(0.01)).isEqualTo(-2.3263478740408408, within(1e-8));
    }

    @Test
    void a_gain_is_paired_by_question() {
        Gain gain = Gain.paired(List.of(0.0, 0.5, 1.0), List.of(0.5, 1.0, 1.5), 0.95, 1);

        assertThat(gain.mean()).isEqualTo(0.5);
        assertThat(gain.ci().low()).isEqualTo(gain.ci().high());
        assertThatThrownBy(() -> Gain.paired(List.of(0.0), List.of(0.0, 1.0), 0.95, 1))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void noise_is_the_mean_absolute_difference_by_question() {
        Noise noise = Noise.of(List.of(0.0, 1.0, 1.0, 0.0), List.of(1.0, 0.0, 1.0, 0.0));

        assertThat(noise.meanAbsDiff()).isEqualTo(0.5);
        assertThat(noise.meanDiff()).isZero();
    }

    @Test
    void a_gate_needs_the_minimum_and_a_lower_bound_above_zero() {
        Gain clear = new Gain(0.4, new Interval(0.95, 0.1, 0.7));
        Gain doubtful = new Gain(0.4, new Interval(0.95, 0.0, 0.7));

        assertThat(Gate.enough(clear, 0.4)).isTrue();
        assertThat(Gate.enough(clear, 0.41)).isFalse();
        assertThat(Gate.enough(doubtful, 0.05)).isFalse();
        assertThat(Gate.enough(null, 0)).isFalse();
        assertThat(Gate.of(List.of())).isEqualTo(Gate.PASSED);
        assertThat(Gate.of(List.of("too dear"))).isEqualTo(Gate.FAILED);
    }
}
