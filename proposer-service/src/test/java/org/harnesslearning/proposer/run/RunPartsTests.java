package org.harnesslearning.proposer.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class RunPartsTests {
    @Test
    void the_reserve_follows_the_use_of_a_question_and_never_takes_more_than_half() {
        assertThat(Reserve.forRounds(2000, 1, 96)).isEqualTo(1904);
        assertThat(Reserve.forRounds(2000, 2.5, 96)).isEqualTo(1760);
        assertThat(Reserve.forRounds(100, 12, 96)).isEqualTo(50);
        assertThat(Reserve.forRounds(100, 1, 0)).isEqualTo(100);
    }

    @Test
    void candidate_seeds_are_fixed_different_and_fit_a_json_number() {
        Set<Long> seeds = new HashSet<>();
        for (int round = 1; round <= 20; round++) {
            for (int candidate = 0; candidate < 20; candidate++) {
                long seed = Seeds.candidate(1, round, candidate);
                assertThat(seed).isBetween(0L, (1L << 53) - 1);
                seeds.add(seed);
            }
        }
        assertThat(seeds).hasSize(400);
        assertThat(Seeds.candidate(1, 1, 0)).isEqualTo(Seeds.candidate(1, 1, 0)).isNotEqualTo(Seeds.candidate(2, 1, 0));
    }

    @Test
    void lanes_do_all_units_and_then_throw_the_first_failure() {
        AtomicInteger done = new AtomicInteger();

        assertThatThrownBy(() -> Lanes.each(List.of(1, 2, 3, 4), 2, unit -> {
                    done.incrementAndGet();
                    if (unit % 2 == 0) {
                        throw new IllegalStateException("unit " + unit);
                    }
                }))
                .hasMessage("unit 2");
        assertThat(done).hasValue(4);
    }

    @Test
    void the_wait_of_a_prefer_header_is_read_and_bounded() {
        Duration minute = Duration.ofMinutes(1);
        assertThat(RunHttp.wait(null, Duration.ZERO, minute)).isZero();
        assertThat(RunHttp.wait("respond-async, wait=10", Duration.ZERO, minute))
                .hasSeconds(10);
        assertThat(RunHttp.wait("wait=100000", Duration.ZERO, minute)).isEqualTo(minute);
        assertThat(RunHttp.wait("handling=lenient", minute, minute)).isEqualTo(minute);
    }
}
