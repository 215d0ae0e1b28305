package org.harnesslearning.executor.gym;

import java.time.Clock;
import org.harnesslearning.executor.sandbox.DockerEngine;
import org.harnesslearning.tasks.ScorerFactory;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Reasoning Gym's part of the service: its item generator and its scorer. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(GymSettings.class)
class GymConfiguration {
    @Bean
    Gym gym(DockerEngine engine, GymSettings settings, Clock clock) {
        return new Gym(engine, settings, clock);
    }

    @Bean
    ScorerFactory gymScorer(Gym gym) {
        return gym.scorerFactory();
    }
}
