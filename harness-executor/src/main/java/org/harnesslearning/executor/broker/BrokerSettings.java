package org.harnesslearning.executor.broker;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the broker.
 *
 * @param attempts most tries of one call while the model endpoint is away or full
 * @param backoff wait before the second try; doubled before each further one
 * @param maxBackoff longest wait between two tries, also where the endpoint asks for more
 * @param callTimeout most time for one answer of the model endpoint
 * @param traceChars characters of each message and reply that are kept in the trace, head and tail
 */
@ConfigurationProperties("executor.broker")
public record BrokerSettings(
        @DefaultValue("5") int attempts,
        @DefaultValue("500ms") Duration backoff,
        @DefaultValue("10s") Duration maxBackoff,
        @DefaultValue("15m") Duration callTimeout,
        @DefaultValue("8192") int traceChars) {
    public BrokerSettings {
        if (attempts < 1 || traceChars < 2) {
            throw new IllegalArgumentException("executor.broker: attempts and trace-chars are at least 1 and 2");
        }
    }

    /** A text for the trace, head and tail. */
    String shortened(String text) {
        if (text.length() <= traceChars) {
            return text;
        }
        int head = traceChars / 2;
        int left = text.length() - 2 * head;
        return text.substring(0, head) + "\n[... " + left + " characters left out ...]\n"
                + text.substring(text.length() - head);
    }
}
