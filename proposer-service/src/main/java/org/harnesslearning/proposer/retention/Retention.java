package org.harnesslearning.proposer.retention;

import com.github.kagkarlsson.scheduler.task.Task;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.github.kagkarlsson.scheduler.task.schedule.FixedDelay;
import java.time.Clock;
import java.time.Instant;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.proposer.run.RunDesk;
import org.harnesslearning.store.idempotency.FirstAnswers;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunStore;
import org.harnesslearning.store.webhook.WebhookStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The recurring job; one replica at a time has it. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(RetentionSettings.class)
class Retention {
    private static final Logger LOG = LoggerFactory.getLogger(Retention.class);
    private static final int BATCH = 100;

    /** @param desk asked for when the job runs, since it needs the scheduler that has the job */
    @Bean
    Task<Void> retentionTask(
            RetentionSettings settings,
            RunStore runs,
            ObjectProvider<RunDesk> desk,
            WebhookStore webhooks,
            JdbcClient jdbc,
            Clock clock) {
        FirstAnswers answers = new FirstAnswers(jdbc);
        return Tasks.recurring("retention", FixedDelay.of(settings.interval())).execute((instance, context) -> {
            Instant now = clock.instant();
            int deleted = settings.runs().isZero() ? 0 : deleteRuns(runs, desk.getObject(), now.minus(settings.runs()));
            int deliveries = webhooks.deleteEnded(now.minus(settings.deliveries()));
            int old = answers.deleteOld(now);
            if (deleted + deliveries + old > 0) {
                LOG.info("deleted {} runs, {} deliveries and {} first answers", deleted, deliveries, old);
            }
        });
    }

    private static int deleteRuns(RunStore runs, RunDesk desk, Instant before) {
        int deleted = 0;
        List<RunRow> batch = runs.finishedBefore(before, BATCH);
        while (!batch.isEmpty()) {
            for (RunRow run : batch) {
                try {
                    desk.delete(run.kind(), run.id());
                    deleted++;
                } catch (PlatformException e) {
                    if (e.code() != ErrorCode.NOT_FOUND) {
                        throw e;
                    }
                }
            }
            batch = runs.finishedBefore(before, BATCH);
        }
        return deleted;
    }
}
