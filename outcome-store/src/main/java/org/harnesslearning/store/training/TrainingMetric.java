package org.harnesslearning.store.training;

import java.time.Instant;
import java.util.Map;

/**
 * What a step did.
 *
 * @param ms how long it took
 */
public record TrainingMetric(long step, Map<String, Double> metrics, Map<String, Long> counts, long ms, Instant at) {
    public TrainingMetric {
        metrics = Map.copyOf(metrics);
        counts = Map.copyOf(counts);
    }
}
