package org.harnesslearning.trainer.distributed;

import java.util.Objects;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The ranks as this process's environment names them. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(DistributedSettings.class)
class DistributedConfiguration {
    @Bean
    RankEnvironment rankEnvironment() {
        return RankEnvironment.of(System.getenv());
    }

    @Bean(destroyMethod = "close")
    RankLearners learners(RankEnvironment place, DistributedSettings settings) {
        return new RankLearners(place, settings);
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnProperty("trainer.distributed.exit-when-idle")
    IdleEnd idleEnd(
            DistributedSettings settings, JdbcClient jdbc, Learners learners, ConfigurableApplicationContext context) {
        return new IdleEnd(Objects.requireNonNull(settings.exitWhenIdle()), jdbc, learners, context);
    }
}
