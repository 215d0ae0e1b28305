package org.harnesslearning.proposer;

import io.micrometer.observation.ObservationRegistry;
import java.net.URI;
import java.security.SecureRandom;
import java.time.Clock;
import org.harnesslearning.contracts.access.CallerArgument;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.web.ExecutorClients;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.contracts.web.InternalWeb;
import org.harnesslearning.store.Ids;
import org.harnesslearning.store.OutcomeStoreConfiguration;
import org.harnesslearning.store.execution.ExecutionStoreConfiguration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** The proposer service. */
@SpringBootApplication
@EnableConfigurationProperties(ProposerProperties.class)
@Import({InternalWeb.class, CallerArgument.class, OutcomeStoreConfiguration.class, ExecutionStoreConfiguration.class})
public class ProposerApplication {
    /** Starts the service; its settings come from {@code proposer-service.yaml} and what overrides it. */
    public static void main(String[] args) {
        System.setProperty("spring.config.name", "proposer-service");
        SpringApplication.run(ProposerApplication.class, args);
    }

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

    @Bean
    ExecutorApi executorApi(
            @Value("${platform.executor-url}") URI url,
            @Value("${platform.internal-secret}") String secret,
            ProposerProperties properties,
            ObservationRegistry observations) {
        return ExecutorClients.create(url, secret, properties.executorTimeout(), observations);
    }

    @Bean
    ModelApi modelApi(
            @Value("${platform.solver-url}") URI url,
            @Value("${platform.internal-secret}") String secret,
            ProposerProperties properties,
            ObservationRegistry observations) {
        return InternalClients.create(ModelApi.class, url, secret, properties.modelTimeout(), observations);
    }
}
