package org.harnesslearning.proposer.evaluation;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PatienceTests {
    private final Patience patience = new Patience(Duration.ofSeconds(10), Duration.ofSeconds(2));

    private static PlatformException full(@Nullable Integer retryAfter) {
        return new PlatformException(ErrorCode.QUEUE_FULL, "full", List.of(), retryAfter, null);
    }

    @Test
    void a_full_executor_is_asked_again_when_it_says_so_and_not_for_ever() {
        assertThat(patience.after(full(4))).contains(Duration.ofSeconds(4));
        assertThat(patience.after(full(null))).contains(Duration.ofSeconds(2));
        assertThat(patience.after(full(4_000))).contains(Duration.ofMinutes(1));
        assertThat(patience.after(full(1))).isEmpty();
    }

    @Test
    void other_failures_are_not_waited_out() {
        assertThat(patience.after(new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, "no Docker")))
                .isEmpty();
    }
}
