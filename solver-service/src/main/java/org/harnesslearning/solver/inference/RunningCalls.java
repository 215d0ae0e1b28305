package org.harnesslearning.solver.inference;

import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * The calls being answered. When the service shuts down, before the web server does, new ones are refused, running ones
 * have until the deadline, and what still runs then is cancelled, so that its stream ends in order. Thread-safe.
 *
 * <p>States: open → draining → aborted.
 */
final class RunningCalls implements SmartLifecycle {
    private static final Logger LOG = LoggerFactory.getLogger(RunningCalls.class);

    private final Duration deadline;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition fewer = lock.newCondition();
    private final Set<Call> calls = new LinkedHashSet<>(); // guarded by lock
    private boolean draining; // guarded by lock
    private boolean aborted; // guarded by lock

    /**
     * No calls yet.
     *
     * @param deadline how long running calls have once the service shuts down
     */
    RunningCalls(Duration deadline) {
        this.deadline = deadline;
    }

    /** A call from its start to the end of its answer. Equal to itself alone. */
    final class Call implements AutoCloseable {
        private final @Nullable String requestId;
        private final Cancellation cancellation = new Cancellation();

        private Call(@Nullable String requestId) {
            this.requestId = requestId;
        }

        Cancellation cancellation() {
            return cancellation;
        }

        @Override
        public void close() {
            lock.lock();
            try {
                calls.remove(this);
                fewer.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Begins a call.
     *
     * @throws PlatformException with {@code DRAINING} once the service shuts down
     */
    Call begin(@Nullable String requestId) {
        lock.lock();
        try {
            if (draining) {
                throw shuttingDown();
            }
            Call call = new Call(requestId);
            calls.add(call);
            return call;
        } finally {
            lock.unlock();
        }
    }

    /** Refuses what is half a reply, since the shutdown cut it off. */
    void refuseIfAborted() {
        lock.lock();
        try {
            if (aborted) {
                throw shuttingDown();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Cancels the calls with a request id and answers whether there are any. */
    boolean cancel(String requestId) {
        Set<Call> named;
        lock.lock();
        try {
            named = new LinkedHashSet<>(calls);
        } finally {
            lock.unlock();
        }
        named.removeIf(call -> !requestId.equals(call.requestId));
        named.forEach(call -> call.cancellation.cancel());
        return !named.isEmpty();
    }

    private static PlatformException shuttingDown() {
        return new PlatformException(ErrorCode.DRAINING, "The service is shutting down");
    }

    @Override
    public void start() {}

    @Override
    public boolean isRunning() {
        lock.lock();
        try {
            return !draining;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void stop() {
        drain();
    }

    @Override
    public void stop(Runnable whenDone) {
        Thread.ofPlatform().name("drain").start(() -> {
            try {
                drain();
            } finally {
                whenDone.run();
            }
        });
    }

    private void drain() {
        lock.lock();
        try {
            draining = true;
            awaitNone(deadline);
            if (!calls.isEmpty()) {
                LOG.warn("{} calls are cut off by the shutdown", calls.size());
                aborted = true;
                calls.forEach(call -> call.cancellation.cancel());
                awaitNone(deadline);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    private void awaitNone(Duration most) throws InterruptedException {
        long left = most.toNanos();
        while (!calls.isEmpty() && left > 0) {
            left = fewer.awaitNanos(left);
        }
    }
}
