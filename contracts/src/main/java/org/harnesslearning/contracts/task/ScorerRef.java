package org.harnesslearning.contracts.task;

import java.util.Map;

/**
 * Names a scorer. {@code reasoning_gym} has the options {@code family} and {@code config}; the scorers of own tasks are
 * {@code exact}, {@code numeric}, {@code em}, {@code token_f1}, {@code regex} and {@code json}.
 *
 * @param name scorer name
 * @param version part of the evaluation cache key; grows when scores may change
 * @param options scorer options as JSON values
 */
public record ScorerRef(String name, String version, Map<String, Object> options) {
    public ScorerRef {
        options = Map.copyOf(options);
    }
}
