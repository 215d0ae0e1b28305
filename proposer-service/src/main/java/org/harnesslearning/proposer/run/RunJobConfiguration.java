package org.harnesslearning.proposer.run;

import com.github.kagkarlsson.scheduler.task.Task;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

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
        return new RunJob(services, events, traces, metrics, beside(dataSource), works);
    }

    /**
     * Connections to the same database that are not of the pool. A run keeps one for its lock as long as it works: taken
     * from the pool, the locks of many runs would leave none for their work.
     */
    private static DataSource beside(DataSource pool) {
        try {
            HikariDataSource settings = pool.unwrap(HikariDataSource.class);
            return new DriverManagerDataSource(settings.getJdbcUrl(), settings.getUsername(), settings.getPassword());
        } catch (SQLException e) {
            throw new IllegalStateException("the database is not reached through a Hikari pool", e);
        }
    }

    @Bean
    Task<Void> runTask(RunJob job) {
        return job.task();
    }
}
