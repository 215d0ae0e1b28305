package org.harnesslearning.gateway.edge;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RateLimiterTest {
    private final AtomicLong nanos = new AtomicLong();
    private final RateLimiter limiter = new RateLimiter(nanos::get);

    private int take(String key) {
        return limiter.take(key, 2, 3);
    }

    @Test
    void allows_a_burst_then_the_steady_rate() {
        assertThat(take("a")).isZero();
        assertThat(take("a")).isZero();
        assertThat(take("a")).isZero();
        assertThat(take("a")).isEqualTo(1);
        nanos.addAndGet(500_000_000);
        assertThat(take("a")).isZero();
        assertThat(take("a")).isEqualTo(1);
    }

    @Test
    void keys_do_not_share_a_bucket() {
        for (int i = 0; i < 3; i++) {
            take("a");
        }
        assertThat(take("a")).isPositive();
        assertThat(take("b")).isZero();
    }

    @Test
    void a_long_rest_fills_no_more_than_the_burst() {
        nanos.addAndGet(3_600_000_000_000L);
        int allowed = 0;
        while (take("a") == 0) {
            allowed++;
        }
        assertThat(allowed).isEqualTo(3);
    }

    @Test
    void each_key_has_its_own_rate() {
        assertThat(limiter.take("slow", 0.5, 1)).isZero();
        assertThat(limiter.take("slow", 0.5, 1)).isEqualTo(2);
        for (int i = 0; i < 50; i++) {
            assertThat(limiter.take("fast", 100, 50)).isZero();
        }
        assertThat(limiter.take("fast", 100, 50)).isEqualTo(1);
    }
}
