package org.harnesslearning.trainer.run;

import com.github.kagkarlsson.scheduler.task.Task;
import javax.sql.DataSource;
import org.harnesslearning.trainer.TrainerProperties;
import org.harnesslearning.trainer.registry.ModelRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The job of training runs as a task of the scheduler. */
@Configuration(proxyBeanMethods = false)
class TrainingConfiguration {
    @Bean
    TrainingJob trainingJob(
            TrainingServices services,
            TrainerProperties properties,
            TrainingMetrics metrics,
            ModelRegistry registry,
            DataSource dataSource,
            ObjectProvider<TrainingMethod> methods) {
        return new TrainingJob(
                services,
                properties,
                metrics,
                registry,
                dataSource,
                methods.orderedStream().toList());
    }

    @Bean
    Task<Void> trainingTask(TrainingJob job) {
        return job.task();
    }
}
