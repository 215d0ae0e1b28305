package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Map;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.llm.EngineStatistics;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.Status;

class EngineHealthTest {
    private Instant now = Instant.EPOCH;
    private @Nullable EngineStatistics statistics;

    private final ModelBackend backend = new ModelBackend() {
        @Override
        public String name() {
            return "m";
        }

        @Override
        public ModelInfo info() {
            throw new UnsupportedOperationException();
        }

        @Override
        public ChatResponse chat(ChatCall call, DeltaSink sink, Cancellation cancellation) {
            throw new UnsupportedOperationException();
        }

        @Override
        public @Nullable EngineStatistics statistics() {
            return statistics;
        }
    };

    private final Clock clock = new Clock() {
        @Override
        public Instant instant() {
            return now;
        }

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }
    };

    private final EngineHealth health =
            new EngineHealth(new ModelRegistry(Map.of("m", backend)), clock, Duration.ofSeconds(60));

    private Status after(int seconds, int running, long steps) {
        now = now.plusSeconds(seconds);
        statistics = new EngineStatistics(running, 0, 4, 0, 0, 0, 0, 0, steps, 0);
        return health.health().getStatus();
    }

    @Test
    void an_engine_with_work_and_no_step_for_too_long_is_down() {
        assertThat(health.health().getStatus()).isEqualTo(Status.UP);
        assertThat(after(1, 1, 5)).isEqualTo(Status.UP);
        assertThat(after(59, 1, 5)).isEqualTo(Status.UP);
        assertThat(after(2, 1, 5)).isEqualTo(Status.DOWN);
        assertThat(after(1, 1, 6)).isEqualTo(Status.UP);
    }

    @Test
    void an_idle_engine_may_rest() {
        assertThat(after(1, 0, 5)).isEqualTo(Status.UP);
        assertThat(after(1000, 0, 5)).isEqualTo(Status.UP);
        assertThat(after(1000, 1, 5)).isEqualTo(Status.UP);
    }
}
