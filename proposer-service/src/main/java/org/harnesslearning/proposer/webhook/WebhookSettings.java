package org.harnesslearning.proposer.webhook;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of webhooks.
 *
 * @param allowedHosts receivers that may have private addresses and may be called without TLS: {@code host} for any port
 *     or {@code host:port}
 * @param timeout longest time of one try, from the name's resolution to the end of the answer
 * @param retryDelays waits between the tries; there is one try more than waits
 * @param maximum most webhooks of the installation
 */
@ConfigurationProperties("proposer.webhooks")
record WebhookSettings(
        @DefaultValue Set<String> allowedHosts,
        @DefaultValue("15s") Duration timeout,

        @DefaultValue({"5s", "1m", "5m", "30m", "2h", "6h", "12h"})
        List<Duration> retryDelays,

        @DefaultValue("50") int maximum) {
    WebhookSettings {
        allowedHosts = allowedHosts.stream()
                .map(host -> host.toLowerCase(Locale.ROOT))
                .collect(Collectors.toUnmodifiableSet());
        retryDelays = List.copyOf(retryDelays);
        if (timeout.isNegative() || timeout.isZero() || retryDelays.stream().anyMatch(Duration::isNegative)) {
            throw new IllegalArgumentException(
                    "proposer.webhooks.timeout and proposer.webhooks.retry-delays must be positive");
        }
    }
}
