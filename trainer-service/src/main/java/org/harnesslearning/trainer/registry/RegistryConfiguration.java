package org.harnesslearning.trainer.registry;

import com.github.kagkarlsson.scheduler.task.Task;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.github.kagkarlsson.scheduler.task.schedule.FixedDelay;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.URI;
import java.time.Clock;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.store.model.PromotionStore;
import org.harnesslearning.store.run.CandidateStore;
import org.harnesslearning.store.run.RunStore;
import org.harnesslearning.trainer.TrainerProperties;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.support.TransactionTemplate;

/** The registry's clients and its job. */
@Configuration(proxyBeanMethods = false)
class RegistryConfiguration {
    @Bean
    @ConditionalOnMissingBean
    ModelApi modelApi(
            @Value("${platform.solver-url}") URI url,
            @Value("${platform.internal-secret}") String secret,
            TrainerProperties properties) {
        return InternalClients.create(ModelApi.class, url, secret, properties.answerTimeout());
    }

    @Bean
    RevisionApi promotionRevisions(
            @Value("${platform.proposer-url}") URI url,
            @Value("${platform.internal-secret}") String secret,
            TrainerProperties properties) {
        return InternalClients.create(RevisionApi.class, url, secret, properties.answerTimeout());
    }

    @Bean
    PromotionJob promotionJob(
            PromotionStore promotions,
            StoredModels models,
            RevisionApi revisions,
            RunStore runs,
            CandidateStore candidates,
            TransactionTemplate tx,
            TrainerProperties properties,
            Clock clock,
            MeterRegistry meters) {
        return new PromotionJob(promotions, models, revisions, runs, candidates, tx, properties, clock, meters);
    }

    @Bean
    Task<Void> promotionTask(PromotionJob job) {
        return job.task();
    }

    @Bean
    Task<Void> nameSweepTask(StoredModels models, TrainerProperties properties) {
        return Tasks.recurring("name-sweep", FixedDelay.of(properties.nameSweep()))
                .execute((instance, context) -> models.sweep());
    }
}
