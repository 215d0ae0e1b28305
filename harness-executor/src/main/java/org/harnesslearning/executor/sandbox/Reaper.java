package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes what lost executors left at the engine, at the start and from time to time, and tells the others that this one
 * lives. Whether an executor lives is asked of the installation's database and not of the engine: a container's state does
 * not tell whose it is, and executors that share an engine need not share a machine. While the database does not answer,
 * nobody is taken for lost.
 *
 * <p>Most leftovers end before anyone looks: when an executor is killed, the engine closes the standard input of its
 * containers, and the runner ends at the end of its input.
 */
public final class Reaper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Reaper.class);

    private final DockerEngine engine;
    private final Heartbeats heartbeats;
    private final ReaperSettings settings;
    private final AtomicLong removed = new AtomicLong();
    private final CountDownLatch closed = new CountDownLatch(1);

    private Reaper(DockerEngine engine, Heartbeats heartbeats, ReaperSettings settings) {
        this.engine = engine;
        this.heartbeats = heartbeats;
        this.settings = settings;
    }

    /**
     * Starts: the first heartbeat is told and the first leftovers are gone when this returns. The engine must not start a
     * container before.
     */
    public static Reaper start(DockerEngine engine, Heartbeats heartbeats, ReaperSettings settings) {
        Reaper reaper = new Reaper(engine, heartbeats, settings);
        heartbeats.beat(engine.instance());
        reaper.reap();
        reaper.repeat("sandbox-heartbeat", settings.heartbeat(), reaper::beat);
        reaper.repeat("sandbox-reaper", settings.interval(), reaper::reap);
        return reaper;
    }

    private void repeat(String name, Duration interval, Runnable action) {
        Thread.ofPlatform().daemon().name(name).start(() -> {
            try {
                while (!closed.await(interval.toMillis(), TimeUnit.MILLISECONDS)) {
                    action.run();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException("nobody interrupts this thread", e);
            }
        });
    }

    /** Leftovers of lost executors that this one has removed. */
    public long removed() {
        return removed.get();
    }

    private void beat() {
        try {
            heartbeats.beat(engine.instance());
        } catch (RuntimeException e) {
            LOG.warn("can't tell that this executor lives: {}", e.toString());
        }
    }

    private void reap() {
        Set<String> living = living();
        try {
            engine.removeQuarantined();
            removed.addAndGet(engine.removeLeftovers(living));
        } catch (RuntimeException e) {
            LOG.warn("can't look for leftovers at the Docker engine: {}", e.toString());
        }
    }

    private @Nullable Set<String> living() {
        try {
            return heartbeats.living(settings.lostAfter());
        } catch (RuntimeException e) {
            LOG.warn("can't ask which executors live: {}", e.toString());
            return null;
        }
    }

    /** Stops; the engine should be closed right after. */
    @Override
    public void close() {
        closed.countDown();
        try {
            heartbeats.leave(engine.instance());
        } catch (RuntimeException e) {
            LOG.debug("can't tell that this executor ends", e);
        }
    }
}
