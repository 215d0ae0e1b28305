package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the reaper.
 *
 * @param heartbeat how often this executor tells that it lives
 * @param lostAfter silence after which an executor counts as lost; at least three heartbeats
 * @param interval how often leftovers are looked for
 */
@ConfigurationProperties("executor.sandbox.reaper")
public record ReaperSettings(
        @DefaultValue("5s") Duration heartbeat,
        @DefaultValue("30s") Duration lostAfter,
        @DefaultValue("15s") Duration interval) {
    public ReaperSettings {
        if (!heartbeat.isPositive() || !interval.isPositive() || lostAfter.compareTo(heartbeat.multipliedBy(3)) < 0) {
            throw new IllegalArgumentException(
                    "executor.sandbox.reaper: lost-after is at least three heartbeats, and all are positive");
        }
    }
}
