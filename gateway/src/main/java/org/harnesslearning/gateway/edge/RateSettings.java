package org.harnesslearning.gateway.edge;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How often one key may call.
 *
 * @param perSecond calls a second in the long run
 * @param burst most calls at once after a rest
 * @param maxPerSecond most that a key of its own limit may be given; ten times {@code perSecond} when not set
 * @param maxBurst likewise for {@code burst}
 */
@ConfigurationProperties("gateway.rate")
record RateSettings(
        @DefaultValue("20") double perSecond,
        @DefaultValue("100") int burst,
        @Nullable Double maxPerSecond,
        @Nullable Integer maxBurst) {
    private static final int DEFAULT_FACTOR = 10;

    RateSettings {
        if (!(perSecond > 0) || burst < 1) {
            throw new IllegalArgumentException("gateway.rate.per-second and gateway.rate.burst must be positive");
        }
        if ((maxPerSecond != null && !(maxPerSecond >= perSecond)) || (maxBurst != null && maxBurst < burst)) {
            throw new IllegalArgumentException(
                    "gateway.rate.max-per-second and gateway.rate.max-burst must not be below per-second and burst");
        }
    }

    /** Most calls a second that any key may have. */
    double mostPerSecond() {
        return maxPerSecond == null ? DEFAULT_FACTOR * perSecond : maxPerSecond;
    }

    /** Most calls at once that any key may have. */
    int mostBurst() {
        return maxBurst == null ? (int) Math.min(Integer.MAX_VALUE, (long) DEFAULT_FACTOR * burst) : maxBurst;
    }
}
