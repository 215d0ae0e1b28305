package org.harnesslearning.trainer;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

class TrainerPropertiesTest {
    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties(TrainerProperties.class)
    static class Settings {}

    private final ApplicationContextRunner runner =
            new ApplicationContextRunner().withUserConfiguration(Settings.class);

    @Test
    void defaults() {
        runner.run(context -> assertThat(context.getBean(TrainerProperties.class))
                .isEqualTo(new TrainerProperties(
                        Map.of(),
                        null,
                        1,
                        2,
                        Duration.ofMinutes(15),
                        Duration.ofSeconds(1),
                        Duration.ofMillis(500),
                        Duration.ofSeconds(15),
                        Duration.ofMinutes(10),
                        Duration.ofMinutes(10),
                        Duration.ofMinutes(10))));
    }

    @Test
    void every_key_is_read_and_names_of_models_with_dots_stand_in_brackets() {
        runner.withPropertyValues(
                        "trainer.checkpoints[qwen2.5-coder-1.5b]=/models/q.gguf",
                        "trainer.folder=/scratch",
                        "trainer.parallel-runs=3",
                        "trainer.keep-checkpoints=5",
                        "trainer.stall-after=1m",
                        "trainer.queue-poll=2s",
                        "trainer.event-poll=3s",
                        "trainer.heartbeat=4s",
                        "trainer.max-wait=5s",
                        "trainer.answer-timeout=6s",
                        "trainer.name-sweep=7s")
                .run(context -> assertThat(context.getBean(TrainerProperties.class))
                        .isEqualTo(new TrainerProperties(
                                Map.of("qwen2.5-coder-1.5b", Path.of("/models/q.gguf")),
                                Path.of("/scratch"),
                                3,
                                5,
                                Duration.ofMinutes(1),
                                Duration.ofSeconds(2),
                                Duration.ofSeconds(3),
                                Duration.ofSeconds(4),
                                Duration.ofSeconds(5),
                                Duration.ofSeconds(6),
                                Duration.ofSeconds(7))));
    }

    @Test
    void a_trainer_does_at_least_one_run_and_keeps_at_least_one_checkpoint() {
        runner.withPropertyValues("trainer.keep-checkpoints=0")
                .run(context -> assertThat(context).hasFailed());
    }
}
