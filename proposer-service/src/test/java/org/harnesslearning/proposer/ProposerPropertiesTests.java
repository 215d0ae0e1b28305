package org.harnesslearning.proposer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class ProposerPropertiesTests {
    private static ProposerProperties bind(Map<String, Object> values) {
        return new Binder(new MapConfigurationPropertySource(values))
                .bindOrCreate("proposer", ProposerProperties.class);
    }

    @Test
    void defaults_are_as_documented() {
        assertThat(bind(Map.of()))
                .isEqualTo(new ProposerProperties(
                        "qwen2.5-coder-1.5b",
                        Duration.ofMinutes(10),
                        Duration.ofMinutes(30),
                        Duration.ofSeconds(2),
                        6,
                        2,
                        3,
                        Duration.ofSeconds(2),
                        Duration.ofMinutes(30),
                        Duration.ofMillis(500),
                        Duration.ofSeconds(15),
                        Duration.ofMinutes(10),
                        Duration.ofSeconds(60),
                        Duration.ofSeconds(10),
                        Map.of()));
    }

    @Test
    void every_key_is_mapped() {
        ProposerProperties properties = bind(Map.ofEntries(
                Map.entry("proposer.default-model", "m"),
                Map.entry("proposer.executor-timeout", "1s"),
                Map.entry("proposer.model-timeout", "2s"),
                Map.entry("proposer.poll-wait", "3s"),
                Map.entry("proposer.question-lanes", "4"),
                Map.entry("proposer.candidate-lanes", "5"),
                Map.entry("proposer.attempts", "6"),
                Map.entry("proposer.retry-delay", "7s"),
                Map.entry("proposer.executor-patience", "12s"),
                Map.entry("proposer.event-poll", "8s"),
                Map.entry("proposer.heartbeat", "9s"),
                Map.entry("proposer.max-wait", "10s"),
                Map.entry("proposer.revise-wait", "11s"),
                Map.entry("proposer.live-max-age", "13s"),
                Map.entry("proposer.prices.m.prompt", "0.5"),
                Map.entry("proposer.prices[qwen2.5-coder].completion", "2")));

        assertThat(properties)
                .isEqualTo(new ProposerProperties(
                        "m",
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(2),
                        Duration.ofSeconds(3),
                        4,
                        5,
                        6,
                        Duration.ofSeconds(7),
                        Duration.ofSeconds(12),
                        Duration.ofSeconds(8),
                        Duration.ofSeconds(9),
                        Duration.ofSeconds(10),
                        Duration.ofSeconds(11),
                        Duration.ofSeconds(13),
                        Map.of(
                                "m",
                                new ProposerProperties.Price(0.5, 0),
                                "qwen2.5-coder",
                                new ProposerProperties.Price(0, 2))));
    }

    @Test
    void lanes_and_attempts_are_at_least_one() {
        assertThatThrownBy(() -> bind(Map.of("proposer.attempts", "0")))
                .rootCause()
                .hasMessageContaining("proposer.attempts");
    }
}
