package org.harnesslearning.benchmarks.learning;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Independent pieces of work, the first ones first, some at once, until the time is up. */
final class Jobs {
    private final int atOnce;
    private final Deadline deadline;

    Jobs(int atOnce, Deadline deadline) {
        this.atOnce = atOnce;
        this.deadline = deadline;
    }

    /** The end of the time that a stage has. */
    static final class Deadline {
        private final long end;

        Deadline(double minutes) {
            this.end = System.nanoTime() + (long) (minutes * 60e9);
        }

        boolean over() {
            return System.nanoTime() - end >= 0;
        }

        Duration left() {
            return Duration.ofNanos(Math.max(0, end - System.nanoTime()));
        }
    }

    /** A piece of work; it leaves by itself when the deadline is over. */
    interface Job {
        /** Returns false when it could not be ended in time. */
        boolean work();
    }

    /**
     * Does them.
     *
     * @return how many were not done in time
     * @throws RuntimeException that of the first job that failed, after all have ended
     */
    int run(List<Job> jobs) {
        List<Future<Boolean>> futures = new ArrayList<>();
        int left = 0;
        RuntimeException failure = null;
        try (ExecutorService pool =
                Executors.newFixedThreadPool(atOnce, Thread.ofVirtual().factory())) {
            for (Job job : jobs) {
                futures.add(pool.submit(() -> !deadline.over() && job.work()));
            }
            for (Future<Boolean> future : futures) {
                try {
                    left += future.get() ? 0 : 1;
                } catch (ExecutionException e) {
                    left++;
                    failure = failure == null ? cause(e.getCause()) : failure;
                } catch (InterruptedException e) {
                    pool.shutdownNow();
                    Thread.currentThread().interrupt();
                    throw new LearnException("interrupted", e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
        return left;
    }

    private static RuntimeException cause(@Nullable Throwable cause) {
        return cause instanceof RuntimeException runtime ? runtime : new LearnException("a job failed", cause);
    }
}
