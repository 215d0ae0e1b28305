package org.harnesslearning.trainer.distributed;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Ends rank 0, and with it all ranks, when no training run is left to do: how a Kubernetes Job comes to its end. */
final class IdleEnd implements SmartInitializingSingleton, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(IdleEnd.class);
    private static final Duration LOOK = Duration.ofSeconds(2);

    private final Duration patience;
    private final JdbcClient jdbc;
    private final Learners learners;
    private final ConfigurableApplicationContext context;
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("idle-end").factory());
    private long busyAt = System.nanoTime();

    IdleEnd(Duration patience, JdbcClient jdbc, Learners learners, ConfigurableApplicationContext context) {
        this.patience = patience;
        this.jdbc = jdbc;
        this.learners = learners;
        this.context = context;
    }

    @Override
    public void afterSingletonsInstantiated() {
        var unused = clock.scheduleWithFixedDelay(this::look, LOOK.toMillis(), LOOK.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void look() {
        try {
            long open = jdbc.sql("select count(*) from training_run where state in ('queued', 'running')")
                    .query(Long.class)
                    .single();
            if (open > 0) {
                busyAt = System.nanoTime();
            } else if (System.nanoTime() - busyAt > patience.toNanos()) {
                LOG.info("no training run is left: this process ends");
                learners.dismiss();
                Thread.ofPlatform().name("idle-end").start(() -> System.exit(SpringApplication.exit(context, () -> 0)));
                clock.shutdown();
            }
        } catch (RuntimeException e) {
            LOG.warn("the training runs could not be counted: {}", e.getMessage());
        }
    }

    @Override
    public void close() {
        clock.shutdownNow();
    }
}
