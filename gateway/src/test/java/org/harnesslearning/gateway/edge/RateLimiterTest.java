package org.harnesslearning.gateway.edge;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RateLimiterTest {
    private final AtomicLong nanos = new AtomicLong();
    private final RateLimiter limiter = new RateLimiter(new RateSettings(2, 3), nanos::get);

    @Test
    void allows_a_burst_then_the_steady_rate() {
        assertThat(limiter.take("a")).isZero();
        assertThat(limiter.take("a")).isZero();
        assertThat(limiter.take("a")).isZero();
        assertThat(limiter.take("a")).isEqualTo(1);
        nanos.addAndGet(500_000_000);
        assertThat(limiter.take("a")).isZero();
        assertThat(limiter.take("a")).isEqualTo(1);
    }

    @Test
    void keys_do_not_share_a_bucket() {
        for (int i = 0; i < 3; i++) {
            limiter.take("a");
        }
        assertThat(limiter.take("a")).isPositive();
        assertThat(limiter.take("b")).isZero();
    }

    @Test
    void a_long_rest_fills_no_more_than_the_burst() {
        nanos.addAndGet(3_600_000_000_000L);
        int allowed = 0;
        while (limiter.take("a") == 0) {
            allowed++;
        }
        assertThat(allowed).isEqualTo(3);
    }
}
