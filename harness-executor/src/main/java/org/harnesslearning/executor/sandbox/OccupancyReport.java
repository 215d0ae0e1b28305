package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.store.execution.ExecutorInstances;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells the installation what this executor does, every few seconds and when it changed, for the status of the whole. */
public final class OccupancyReport implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OccupancyReport.class);
    private static final Duration INTERVAL = Duration.ofSeconds(2);

    private final String instance;
    private final DockerSandboxes sandboxes;
    private final ExecutorInstances instances;
    private final CountDownLatch closed = new CountDownLatch(1);
    private ExecutorInstances.Occupancy told = new ExecutorInstances.Occupancy(-1, -1, -1, -1);

    /** Begins to tell. */
    public OccupancyReport(DockerEngine engine, DockerSandboxes sandboxes, ExecutorInstances instances) {
        this.instance = engine.instance();
        this.sandboxes = sandboxes;
        this.instances = instances;
        Thread.ofPlatform().daemon().name("occupancy-report").start(this::run);
    }

    private void run() {
        try {
            do {
                tell();
            } while (!closed.await(INTERVAL.toMillis(), TimeUnit.MILLISECONDS));
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts this thread", e);
        }
    }

    private void tell() {
        ExecutorInstances.Occupancy now = sandboxes.occupancy();
        if (now.equals(told)) {
            return;
        }
        try {
            instances.occupied(instance, now);
            told = now;
        } catch (RuntimeException e) {
            LOG.debug("can't tell what this executor does: {}", e.toString());
        }
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
