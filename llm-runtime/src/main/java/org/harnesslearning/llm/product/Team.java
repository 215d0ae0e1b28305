package org.harnesslearning.llm.product;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The calling thread and some helpers that share the parts of a task.
 *
 * <p>Everyone takes the next part when it has finished one, and the caller never waits for a helper that has not begun
 * one: on a busy machine it simply does more itself. A helper without work looks out for more for a moment, giving way
 * to whatever else wants its processor, and then sleeps.
 *
 * <p>Used by one thread at a time.
 */
public final class Team implements AutoCloseable {

    /** As long as the pauses between two products of a step. */
    private static final long LOOK_OUT_NANOS = 200_000;

    private static final int SPINS = 32;

    private final List<Helper> helpers = new ArrayList<>();
    private volatile Round round = new Round((worker, part) -> {}, 0);
    private volatile boolean closed;

    /** One task of several parts. */
    @FunctionalInterface
    public interface Task {

        /** @param worker 0 for the calling thread, then the helpers; no two threads have the same number at once */
        void run(int worker, int part);
    }

    /** @param size threads, the calling one included */
    public Team(int size) {
        for (int worker = 1; worker < size; worker++) {
            Helper helper = new Helper(worker);
            helpers.add(helper);
            helper.thread.start();
        }
    }

    /** Runs all parts and returns when they are done. */
    public void run(int parts, Task task) {
        if (helpers.isEmpty() || parts == 1) {
            for (int part = 0; part < parts; part++) {
                task.run(0, part);
            }
            return;
        }
        Round own = new Round(task, parts);
        round = own;
        for (Helper helper : helpers) {
            if (helper.asleep) {
                LockSupport.unpark(helper.thread);
            }
        }
        own.work(0);
        for (int spins = 0; own.finished.get() < parts; spins++) {
            rest(spins);
        }
        Throwable failure = own.failure.get();
        if (failure != null) {
            throw new IllegalStateException("a part of the product failed", failure);
        }
    }

    private static void rest(int spins) {
        if (spins % SPINS == SPINS - 1) {
            Thread.yield();
        } else {
            Thread.onSpinWait();
        }
    }

    /** Ends the helpers. */
    @Override
    public void close() {
        closed = true;
        for (Helper helper : helpers) {
            LockSupport.unpark(helper.thread);
        }
        boolean interrupted = false;
        for (Helper helper : helpers) {
            while (helper.thread.isAlive()) {
                try {
                    helper.thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static final class Round {

        private final Task task;
        private final int parts;
        private final AtomicInteger next = new AtomicInteger();
        private final AtomicInteger finished = new AtomicInteger();
        private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

        Round(Task task, int parts) {
            this.task = task;
            this.parts = parts;
        }

        void work(int worker) {
            for (int part = next.getAndIncrement(); part < parts; part = next.getAndIncrement()) {
                try {
                    task.run(worker, part);
                } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                } finally {
                    finished.incrementAndGet();
                }
            }
        }
    }

    private final class Helper {

        private final Thread thread;
        private volatile boolean asleep;

        Helper(int worker) {
            thread = Thread.ofPlatform().daemon().name("ggml-" + worker).unstarted(() -> work(worker));
        }

        private void work(int worker) {
            Round last = round;
            while (!closed) {
                Round current = round;
                if (current != last) {
                    last = current;
                    current.work(worker);
                } else {
                    await(last);
                }
            }
        }

        private void await(Round last) {
            long start = System.nanoTime();
            for (int spins = 0; round == last && !closed; spins++) {
                rest(spins);
                if (spins % SPINS == 0 && System.nanoTime() - start > LOOK_OUT_NANOS) {
                    asleep = true;
                    if (round == last && !closed) {
                        LockSupport.park(this);
                    }
                    asleep = false;
                }
            }
        }
    }
}
