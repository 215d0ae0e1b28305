package org.harnesslearning.proposer.retention;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How long data is kept.
 *
 * @param runs adaptations, revisions and evaluations after their end; 0 keeps them for ever
 * @param deliveries deliveries of webhooks after their end
 * @param interval wait between two looks
 */
@ConfigurationProperties("proposer.retention")
record RetentionSettings(
        @DefaultValue("0s") Duration runs,
        @DefaultValue("30d") Duration deliveries,
        @DefaultValue("1h") Duration interval) {
    RetentionSettings {
        if (runs.isNegative() || deliveries.isNegative() || interval.isNegative() || interval.isZero()) {
            throw new IllegalArgumentException("proposer.retention must not be negative, its interval not 0");
        }
    }
}
