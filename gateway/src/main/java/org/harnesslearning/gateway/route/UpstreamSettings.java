package org.harnesslearning.gateway.route;

import java.net.URI;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Where the services behind are.
 *
 * @param proposerUrl base URL of proposer-service
 * @param trainerUrl base URL of trainer-service
 * @param internalSecret the installation's secret, the same for all services
 * @param connectTimeout most time to open a connection
 * @param answerTimeout most time until an answer is complete; above the longest {@code Prefer: wait}; event streams
 *     have none
 */
@ConfigurationProperties("platform")
record UpstreamSettings(
        @DefaultValue("http://localhost:8081") URI proposerUrl,
        @DefaultValue("http://localhost:8084") URI trainerUrl,
        @DefaultValue("") String internalSecret,
        @DefaultValue("5s") Duration connectTimeout,
        @DefaultValue("630s") Duration answerTimeout) {
    UpstreamSettings {
        if (internalSecret.isBlank()) {
            throw new IllegalArgumentException("platform.internal-secret is not set; every service needs the same one");
        }
    }
}
