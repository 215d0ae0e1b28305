package org.harnesslearning.executor.sandbox;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Containers that are started already, with the interpreter loaded, waiting on their standard input. Each is given out once
 * and never comes back. One thread refills the pool, replaces members past their age, and asks idle ones for a sign of
 * health; one that fails to give it is removed. While the engine fails, the thread tries again at growing intervals, and
 * jobs that find the pool empty start containers of their own.
 */
final class ContainerPool implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ContainerPool.class);

    private static final Duration CLOSE_WAIT = Duration.ofSeconds(30);

    private final DockerEngine engine;
    private final ContainerSpec spec;
    private final PoolSettings settings;
    private final Timer hits;
    private final Timer misses;
    private final Counter unhealthy;
    private final Counter expired;
    private final Counter failures;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    /** Oldest first. */
    private final ArrayDeque<Member> idle = new ArrayDeque<>();

    private final Thread keeper;
    private final int size;

    /** Time without a job after which nothing is kept; null: for ever. */
    private final @Nullable Duration idleAfter;

    private long lastTake = System.nanoTime();
    private int starting;
    private boolean closed;

    /** Starts filling in the background. */
    ContainerPool(DockerEngine engine, String image, PoolSettings settings, MeterRegistry metrics) {
        this(engine, image, settings, settings.size(), null, metrics, "executor.pool", Tags.empty());
    }

    /** For an image of the operator's, called for the first job of that image. */
    static ContainerPool forImage(
            DockerEngine engine, SandboxImage image, PoolSettings settings, MeterRegistry metrics) {
        return new ContainerPool(
                engine,
                image.reference(),
                settings,
                settings.imageSize(),
                settings.imageIdle(),
                metrics,
                "executor.image.pool",
                Tags.of("image", image.name()));
    }

    private ContainerPool(
            DockerEngine engine,
            String image,
            PoolSettings settings,
            int size,
            @Nullable Duration idleAfter,
            MeterRegistry metrics,
            String name,
            Tags tags) {
        this.size = size;
        this.idleAfter = idleAfter;
        this.engine = engine;
        this.spec = new ContainerSpec(image, "pool", settings.memoryMib());
        this.settings = settings;
        this.hits = timer(metrics, name, tags, "hit");
        this.misses = timer(metrics, name, tags, "miss");
        this.unhealthy = discarded(metrics, name, tags, "unhealthy");
        this.expired = discarded(metrics, name, tags, "expired");
        this.failures = Counter.builder(name + ".failures")
                .tags(tags)
                .description("Times that the engine failed to start a member")
                .register(metrics);
        Gauge.builder(name + ".size", this, ContainerPool::wanted)
                .tags(tags)
                .description("Started containers that the pool keeps ready when nothing takes them")
                .register(metrics);
        Gauge.builder(name + ".idle", this, ContainerPool::idle)
                .tags(tags)
                .description("Started containers that wait for a job")
                .register(metrics);
        Gauge.builder(name + ".starting", this, ContainerPool::starting)
                .tags(tags)
                .description("Containers that are being started for the pool")
                .register(metrics);
        this.keeper = Thread.ofVirtual().name("container-pool").unstarted(this::keep);
        if (size > 0) {
            keeper.start();
        }
    }

    private static Timer timer(MeterRegistry metrics, String name, Tags tags, String result) {
        return Timer.builder(name + ".take")
                .tags(tags)
                .description("Time until a job had its container: from the pool (hit), or started for it (miss)")
                .tag("result", result)
                .register(metrics);
    }

    private static Counter discarded(MeterRegistry metrics, String name, Tags tags, String reason) {
        return Counter.builder(name + ".discarded")
                .tags(tags)
                .description("Members that were removed unused")
                .tag("reason", reason)
                .register(metrics);
    }

    private record Member(SandboxContainer container, long since) {}

    /**
     * A container for one job, which the caller closes: a healthy member of the pool, or one that is started now.
     *
     * @throws SandboxFaultException when none can be started
     * @throws InterruptedException when the caller's thread is interrupted; nothing is left then
     */
    SandboxContainer take(String job, int memoryMib) throws InterruptedException {
        long start = System.nanoTime();
        used(start);
        if (memoryMib == spec.memoryMib()) {
            for (Member member = poll(); member != null; member = poll()) {
                if (usable(member)) {
                    hits.record(System.nanoTime() - start, TimeUnit.NANOSECONDS);
                    return member.container;
                }
            }
        }
        SandboxContainer container = engine.start(new ContainerSpec(spec.image(), job, memoryMib));
        misses.record(System.nanoTime() - start, TimeUnit.NANOSECONDS);
        return container;
    }

    private void used(long now) {
        lock.lock();
        try {
            lastTake = now;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** How many members are to be kept now. */
    private int wanted() {
        lock.lock();
        try {
            boolean unused = idleAfter != null && System.nanoTime() - lastTake >= idleAfter.toNanos();
            return unused ? 0 : size;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Member poll() {
        lock.lock();
        try {
            Member member = idle.poll();
            changed.signalAll();
            return member;
        } finally {
            lock.unlock();
        }
    }

    /** Whether a member can be given out or kept; if not, it is removed. */
    private boolean usable(Member member) throws InterruptedException {
        boolean usable = false;
        try {
            if (System.nanoTime() - member.since >= settings.maxAge().toNanos()) {
                expired.increment();
            } else if (isHealthy(member.container)) {
                usable = true;
            } else {
                unhealthy.increment();
                LOG.warn("container {} of the pool gives no sign of health", member.container.id());
            }
            return usable;
        } finally {
            if (!usable) {
                member.container.close();
            }
        }
    }

    private boolean isHealthy(SandboxContainer container) throws InterruptedException {
        String nonce = UUID.randomUUID().toString();
        container.send(new RunnerFrames.Ping(nonce));
        return container.receive(settings.pingTimeout()) instanceof Received.Frame frame
                && frame.body().path("type").asString("").equals("pong")
                && frame.body().path("nonce").asString("").equals(nonce);
    }

    /** The keeper's life. */
    private void keep() {
        Duration wait = settings.backoff();
        long inspected = System.nanoTime();
        try {
            while (await(settings.inspection().toNanos() - (System.nanoTime() - inspected))) {
                if (System.nanoTime() - inspected >= settings.inspection().toNanos()) {
                    inspect();
                    inspected = System.nanoTime();
                }
                if (!reserve()) {
                    continue;
                }
                SandboxContainer started = null;
                try {
                    started = engine.start(spec);
                    wait = settings.backoff();
                } catch (SandboxFaultException e) {
                    failures.increment();
                    LOG.warn("the pool can't start a container, next try in {}: {}", wait, e.getMessage());
                } finally {
                    add(started);
                }
                if (started == null) {
                    rest(wait.toNanos());
                    Duration doubled = wait.multipliedBy(2);
                    wait = doubled.compareTo(settings.maxBackoff()) < 0 ? doubled : settings.maxBackoff();
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("the pool is closed");
        }
    }

    /** Waits until members are missing or it is time to inspect; false when the pool is closed. */
    private boolean await(long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = nanos;
            while (!closed && idle.size() + starting >= wanted() && left > 0) {
                left = changed.awaitNanos(left);
            }
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    /** Waits that long, or until the pool is closed. */
    private void rest(long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = nanos;
            while (!closed && left > 0) {
                left = changed.awaitNanos(left);
            }
        } finally {
            lock.unlock();
        }
    }

    private boolean reserve() {
        lock.lock();
        try {
            if (closed || idle.size() + starting >= wanted()) {
                return false;
            }
            starting++;
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void add(@Nullable SandboxContainer container) {
        boolean kept = false;
        lock.lock();
        try {
            starting--;
            if (container != null && !closed) {
                idle.add(new Member(container, System.nanoTime()));
                kept = true;
            }
        } finally {
            lock.unlock();
        }
        if (container != null && !kept) {
            container.close();
        }
    }

    /** Asks every idle member for its health, one at a time, so that the others can be taken meanwhile. */
    private void inspect() throws InterruptedException {
        int members = idle();
        for (int i = 0; i < members; i++) {
            Member member = poll();
            if (member == null) {
                return;
            }
            if (wanted() == 0) {
                expired.increment();
                member.container.close();
            } else if (usable(member)) {
                giveBack(member);
            }
        }
    }

    private void giveBack(Member member) {
        lock.lock();
        try {
            if (!closed) {
                idle.add(member);
                return;
            }
        } finally {
            lock.unlock();
        }
        member.container.close();
    }

    int idle() {
        lock.lock();
        try {
            return idle.size();
        } finally {
            lock.unlock();
        }
    }

    int starting() {
        lock.lock();
        try {
            return starting;
        } finally {
            lock.unlock();
        }
    }

    /** Removes all members; one that is just being started is removed as soon as it is. */
    @Override
    public void close() {
        List<Member> left;
        lock.lock();
        try {
            closed = true;
            left = new ArrayList<>(idle);
            idle.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        left.forEach(member -> member.container.close());
        try {
            // Not interrupted: a start that is cut off halfway could not be cleared away as well.
            if (keeper.isAlive() && !keeper.join(CLOSE_WAIT)) {
                LOG.warn("a container of the pool is still being started");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
