package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.llm.EngineStatistics;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.Status;

class EngineHealthTest {
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

    private final EngineHealth health =
            new EngineHealth(new ModelRegistry(Map.of("m", backend)), Duration.ofSeconds(60));

    private Status when(boolean alive, int secondsOfTurn) {
        statistics = new EngineStatistics(1, 0, 4, 0, 0, 0, 0, 0, 5, 0, alive, Duration.ofSeconds(secondsOfTurn));
        return health.health().getStatus();
    }

    @Test
    void an_engine_that_hangs_or_has_ended_is_down() {
        assertThat(when(true, 60)).isEqualTo(Status.UP);
        assertThat(when(true, 61)).isEqualTo(Status.DOWN);
        assertThat(when(true, 0)).isEqualTo(Status.UP);
        assertThat(when(false, 0)).isEqualTo(Status.DOWN);
    }

    @Test
    void a_model_that_is_not_loaded_is_no_fault() {
        assertThat(health.health().getStatus()).isEqualTo(Status.UP);
    }
}
