package org.harnesslearning.executor.execution;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of executions.
 *
 * @param attempts most tries of one question when its sandbox, its scorer or the store fails
 * @param backoff wait before the second try; doubled before each further one
 * @param maxWait longest wait of one request for an execution's end
 * @param kept executions that are remembered after their end, so that whoever waits still learns of it
 */
@ConfigurationProperties("executor.execution")
public record ExecutionSettings(
        @DefaultValue("3") int attempts,
        @DefaultValue("500ms") Duration backoff,
        @DefaultValue("120s") Duration maxWait,
        @DefaultValue("64") int kept) {
    public ExecutionSettings {
        if (attempts < 2) {
            throw new IllegalArgumentException("executor.execution.attempts is at least 2");
        }
    }
}
