package org.harnesslearning.trainer;

import java.security.SecureRandom;
import java.time.Clock;
import org.harnesslearning.contracts.access.CallerArgument;
import org.harnesslearning.store.Ids;
import org.harnesslearning.store.OutcomeStoreConfiguration;
import org.harnesslearning.store.training.TrainingStoreConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** What all parts of the trainer use. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(TrainerProperties.class)
@Import({CallerArgument.class, OutcomeStoreConfiguration.class, TrainingStoreConfiguration.class})
class TrainerConfiguration {
    @Bean
    Clock clock() {
        return Clock.systemUTC();
    }

    @Bean
    Ids ids(Clock clock) {
        return new Ids(clock, new SecureRandom());
    }

    @Bean
    TransactionTemplate transactionTemplate(PlatformTransactionManager manager) {
        return new TransactionTemplate(manager);
    }
}
