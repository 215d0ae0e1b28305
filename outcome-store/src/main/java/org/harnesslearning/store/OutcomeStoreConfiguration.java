package org.harnesslearning.store;

import java.time.Clock;
import org.harnesslearning.store.harness.HarnessNames;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.key.ApiKeyStore;
import org.harnesslearning.store.run.ActivityStore;
import org.harnesslearning.store.run.CandidateStore;
import org.harnesslearning.store.run.EvaluationStore;
import org.harnesslearning.store.run.IdempotencyStore;
import org.harnesslearning.store.run.ProposerCallStore;
import org.harnesslearning.store.run.RoundStore;
import org.harnesslearning.store.run.RunJobs;
import org.harnesslearning.store.run.RunLimits;
import org.harnesslearning.store.run.RunStore;
import org.harnesslearning.store.sample.CorpusStore;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.store.task.TaskStore;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The stores as beans; the service that imports this brings the data source and the clock. */
@Configuration(proxyBeanMethods = false)
public class OutcomeStoreConfiguration {
    @Bean
    HarnessStore harnessStore(JdbcClient jdbc, Clock clock) {
        return new HarnessStore(jdbc, clock);
    }

    @Bean
    HarnessNames harnessNames(JdbcClient jdbc, Clock clock) {
        return new HarnessNames(jdbc, clock);
    }

    @Bean
    TaskStore taskStore(JdbcClient jdbc) {
        return new TaskStore(jdbc);
    }

    @Bean
    RunStore runStore(JdbcClient jdbc, Clock clock) {
        return new RunStore(jdbc, clock);
    }

    @Bean
    RoundStore roundStore(JdbcClient jdbc) {
        return new RoundStore(jdbc);
    }

    @Bean
    ProposerCallStore proposerCallStore(JdbcClient jdbc) {
        return new ProposerCallStore(jdbc);
    }

    @Bean
    CandidateStore candidateStore(JdbcClient jdbc, Clock clock) {
        return new CandidateStore(jdbc, clock);
    }

    @Bean
    EvaluationStore evaluationStore(JdbcClient jdbc) {
        return new EvaluationStore(jdbc);
    }

    @Bean
    IdempotencyStore idempotencyStore(JdbcClient jdbc, Clock clock) {
        return new IdempotencyStore(jdbc, clock);
    }

    @Bean
    RunJobs runJobs(JdbcClient jdbc) {
        return new RunJobs(jdbc);
    }

    @Bean
    RunLimits runLimits(JdbcClient jdbc) {
        return new RunLimits(jdbc);
    }

    @Bean
    ActivityStore activityStore(JdbcClient jdbc, Clock clock) {
        return new ActivityStore(jdbc, clock);
    }

    @Bean
    ApiKeyStore apiKeyStore(JdbcClient jdbc) {
        return new ApiKeyStore(jdbc);
    }

    @Bean
    CorpusStore corpusStore(JdbcClient jdbc, Clock clock) {
        return new CorpusStore(jdbc, clock);
    }

    @Bean
    GroupStore groupStore(JdbcClient jdbc, Clock clock) {
        return new GroupStore(jdbc, clock);
    }
}
