package org.harnesslearning.store.training;

import java.time.Clock;
import org.harnesslearning.store.model.ModelAliasStore;
import org.harnesslearning.store.model.ModelVersionStore;
import org.harnesslearning.store.model.PromotionStore;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The stores of training and of the model registry as beans, for the services that use them. */
@Configuration(proxyBeanMethods = false)
public class TrainingStoreConfiguration {
    @Bean
    TrainingRunStore trainingRunStore(JdbcClient jdbc, Clock clock) {
        return new TrainingRunStore(jdbc, clock);
    }

    @Bean
    CheckpointStore checkpointStore(JdbcClient jdbc, Clock clock) {
        return new CheckpointStore(jdbc, clock);
    }

    @Bean
    ModelVersionStore modelVersionStore(JdbcClient jdbc) {
        return new ModelVersionStore(jdbc);
    }

    @Bean
    ModelAliasStore modelAliasStore(JdbcClient jdbc, Clock clock) {
        return new ModelAliasStore(jdbc, clock);
    }

    @Bean
    PromotionStore promotionStore(JdbcClient jdbc, Clock clock) {
        return new PromotionStore(jdbc, clock);
    }
}
