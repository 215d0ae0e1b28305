package org.harnesslearning.solver.inference;

import java.time.Duration;
import org.harnesslearning.llm.EngineStatistics;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Not alive when an engine's thread has ended, or has been at one turn for too long. */
class EngineHealth extends AbstractHealthIndicator {
    private final ModelRegistry registry;
    private final Duration stallTimeout;

    EngineHealth(ModelRegistry registry, Duration stallTimeout) {
        this.registry = registry;
        this.stallTimeout = stallTimeout;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        builder.up();
        for (ModelBackend backend : registry.all()) {
            EngineStatistics statistics = backend.statistics();
            if (statistics == null) {
                continue;
            }
            if (!statistics.alive()) {
                builder.down().withDetail(backend.name(), "the engine has ended");
            } else if (statistics.turnSoFar().compareTo(stallTimeout) > 0) {
                builder.down().withDetail(backend.name(), "one turn of the engine lasts " + statistics.turnSoFar());
            }
        }
    }
}
