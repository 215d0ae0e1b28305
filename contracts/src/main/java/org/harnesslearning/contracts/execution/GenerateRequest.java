package org.harnesslearning.contracts.execution;

import java.util.Map;

/**
 * Generate items of a Reasoning Gym family: indices {@code start} (inclusive) to {@code start + count} (exclusive) of
 * the data set (family, config, seed).
 */
public record GenerateRequest(String family, Map<String, Object> config, long seed, int start, int count) {
    public GenerateRequest {
        config = Map.copyOf(config);
    }
}
