package org.harnesslearning.gateway.edge;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How often one key may call.
 *
 * @param perSecond calls a second in the long run
 * @param burst most calls at once after a rest
 */
@ConfigurationProperties("gateway.rate")
record RateSettings(
        @DefaultValue("20") double perSecond,
        @DefaultValue("100") int burst) {
    RateSettings {
        if (!(perSecond > 0) || burst < 1) {
            throw new IllegalArgumentException("gateway.rate.per-second and gateway.rate.burst must be positive");
        }
    }
}
