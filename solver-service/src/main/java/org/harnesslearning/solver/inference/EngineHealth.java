package org.harnesslearning.solver.inference;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.IdentityHashMap;
import java.util.Map;
import org.harnesslearning.llm.EngineStatistics;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Not alive when an engine has work and has made no step for too long. */
class EngineHealth extends AbstractHealthIndicator {
    private final ModelRegistry registry;
    private final Clock clock;
    private final Duration stallTimeout;
    private final Map<ModelBackend, Beat> beats = new IdentityHashMap<>();

    private record Beat(long steps, Instant at, boolean busy) {}

    EngineHealth(ModelRegistry registry, Clock clock, Duration stallTimeout) {
        this.registry = registry;
        this.clock = clock;
        this.stallTimeout = stallTimeout;
    }

    @Override
    protected synchronized void doHealthCheck(Health.Builder builder) {
        builder.up();
        Instant now = clock.instant();
        for (ModelBackend backend : registry.all()) {
            EngineStatistics statistics = backend.statistics();
            if (statistics == null) {
                continue;
            }
            long steps = statistics.prefillSteps() + statistics.decodeSteps() + statistics.failedSteps();
            Beat last = beats.get(backend);
            boolean busy = statistics.running() + statistics.waiting() > 0;
            if (last == null || last.steps() != steps || !busy || !last.busy()) {
                beats.put(backend, new Beat(steps, now, busy));
            } else if (Duration.between(last.at(), now).compareTo(stallTimeout) > 0) {
                builder.down().withDetail("stalled_since", last.at().toString());
            }
        }
    }
}
