package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the pool of started containers.
 *
 * @param size containers that are kept idle; 0: none, every job starts its own
 * @param memoryMib memory of pool members; a job with another limit starts a container of its own
 * @param maxAge age at which an idle member is replaced
 * @param inspection how often idle members are asked whether they are well
 * @param pingTimeout most time for the answer to a health frame
 * @param backoff wait after the engine failed to start a member; doubled with every further failure
 * @param maxBackoff longest such wait
 * @param imageSize containers that are kept idle for each image of the operator's that tasks use, from its first use on
 * @param imageIdle time without a job of such an image after which none is kept any more
 */
@ConfigurationProperties("executor.pool")
public record PoolSettings(
        @DefaultValue("4") int size,
        @DefaultValue("256") int memoryMib,
        @DefaultValue("10m") Duration maxAge,
        @DefaultValue("30s") Duration inspection,
        @DefaultValue("2s") Duration pingTimeout,
        @DefaultValue("500ms") Duration backoff,
        @DefaultValue("30s") Duration maxBackoff,
        @DefaultValue("1") int imageSize,
        @DefaultValue("10m") Duration imageIdle) {
    public PoolSettings {
        if (size < 0
                || imageSize < 0
                || memoryMib < 32
                || !maxAge.isPositive()
                || !inspection.isPositive()
                || !backoff.isPositive()) {
            throw new IllegalArgumentException("executor.pool: a value is too small");
        }
    }
}
