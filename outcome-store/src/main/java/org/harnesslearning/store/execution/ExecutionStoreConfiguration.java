package org.harnesslearning.store.execution;

import java.time.Clock;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The stores of executions as beans; the service that imports this brings the data source and the clock. */
@Configuration(proxyBeanMethods = false)
public class ExecutionStoreConfiguration {
    @Bean
    QuestionResults questionResults(JdbcClient jdbc, Clock clock) {
        return new QuestionResults(jdbc, clock);
    }

    @Bean
    ModelCalls modelCalls(JdbcClient jdbc, Clock clock) {
        return new ModelCalls(jdbc, clock);
    }

    @Bean
    ToolCalls toolCalls(JdbcClient jdbc, Clock clock) {
        return new ToolCalls(jdbc, clock);
    }

    @Bean
    RunBudgets runBudgets(JdbcClient jdbc, Clock clock) {
        return new RunBudgets(jdbc, clock);
    }

    @Bean
    ExecutorInstances executorInstances(JdbcClient jdbc) {
        return new ExecutorInstances(jdbc);
    }
}
