package org.harnesslearning.trainer.run;

import java.time.Duration;
import java.util.function.Consumer;
import org.harnesslearning.contracts.trace.WorkContext;
import org.jspecify.annotations.Nullable;

/** Watches from the side how long the current step takes, and tells once when one exceeds the limit. */
final class StepWatch implements AutoCloseable {
    private final Duration limit;
    private final Consumer<Stall> told;
    private final Thread thread;

    private long step; // guarded by this, as the following
    private long since;
    private boolean running;
    private boolean stalled;
    private String pending = "";
    private boolean closed;

    /**
     * A step over its limit.
     *
     * @param pending what it waits for; empty for its own computing
     */
    record Stall(long step, double seconds, double limitSeconds, String pending) {
        String sentence() {
            String what = pending.isEmpty() ? "its own computing" : pending;
            return "step %d has taken %.1f s, longer than the %.1f s of trainer.stall-after: it is at %s"
                    .formatted(step, seconds, limitSeconds, what);
        }
    }

    StepWatch(String run, Duration limit, Consumer<Stall> told) {
        this.limit = limit;
        this.told = told;
        Runnable watch = this::watch;
        this.thread = Thread.ofVirtual()
                .name("watch-" + run)
                .start(WorkContext.current().wrap(watch));
    }

    synchronized void begin(long nextStep) {
        step = nextStep;
        since = System.nanoTime();
        running = true;
        stalled = false;
        pending = "";
        notifyAll();
    }

    synchronized void end() {
        running = false;
        stalled = false;
        pending = "";
        notifyAll();
    }

    synchronized void pending(String what) {
        pending = what;
    }

    synchronized boolean stalled() {
        return stalled;
    }

    private void watch() {
        try {
            while (true) {
                Stall stall = next();
                if (stall == null) {
                    return;
                }
                told.accept(stall);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized @Nullable Stall next() throws InterruptedException {
        while (!closed) {
            if (!running || stalled) {
                wait();
                continue;
            }
            long left = limit.toNanos() - (System.nanoTime() - since);
            if (left <= 0) {
                stalled = true;
                return new Stall(step, (System.nanoTime() - since) / 1e9, limit.toNanos() / 1e9, pending);
            }
            wait(left / 1_000_000 + 1);
        }
        return null;
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
