package org.harnesslearning.proposer.run;

import com.github.kagkarlsson.scheduler.task.Task;
import java.util.List;
import javax.sql.DataSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Offers the job to the scheduler. */
@Configuration(proxyBeanMethods = false)
class RunJobConfiguration {
    @Bean
    RunJob runJob(
            RunServices services,
            RunEvents events,
            RunTraces traces,
            RunMetrics metrics,
            DataSource dataSource,
            List<RunWork> works) {
        return new RunJob(services, events, traces, metrics, dataSource, works);
    }

    @Bean
    Task<Void> runTask(RunJob job) {
        return job.task();
    }
}
