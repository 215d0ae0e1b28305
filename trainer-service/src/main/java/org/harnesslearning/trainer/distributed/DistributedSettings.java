package org.harnesslearning.trainer.distributed;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How ranks work together.
 *
 * @param joinTimeout longest wait until all ranks have joined a run
 * @param stepTimeout longest wait for the other ranks' part of one step
 * @param heartbeat how often a rank says that it lives
 * @param lostAfter when a rank that no longer says so counts as lost
 * @param bucketMib most MiB of gradients that are summed in one call
 * @param exitWhenIdle rank 0 ends, and with it the others, after so long without a training run to do; null: never
 */
@ConfigurationProperties("trainer.distributed")
public record DistributedSettings(
        @DefaultValue("5m") Duration joinTimeout,
        @DefaultValue("10m") Duration stepTimeout,
        @DefaultValue("1s") Duration heartbeat,
        @DefaultValue("15s") Duration lostAfter,
        @DefaultValue("64") int bucketMib,
        @Nullable Duration exitWhenIdle) {
    /** Checks that the times make sense. */
    public DistributedSettings {
        if (joinTimeout.isNegative() || joinTimeout.isZero() || stepTimeout.isNegative() || stepTimeout.isZero()) {
            throw new IllegalArgumentException("trainer.distributed: time-outs must be positive");
        }
        if (heartbeat.isNegative() || heartbeat.isZero() || lostAfter.compareTo(heartbeat.multipliedBy(3)) < 0) {
            throw new IllegalArgumentException("trainer.distributed.lost-after must be at least three heartbeats");
        }
        if (bucketMib < 1) {
            throw new IllegalArgumentException("trainer.distributed.bucket-mib must be positive");
        }
    }

    /** The defaults. */
    public static DistributedSettings defaults() {
        return new DistributedSettings(
                Duration.ofMinutes(5), Duration.ofMinutes(10), Duration.ofSeconds(1), Duration.ofSeconds(15), 64, null);
    }
}
