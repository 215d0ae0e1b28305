package org.harnesslearning.trainer.rollout;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.trainer.run.TrainingContext;
import org.harnesslearning.trainer.run.TrainingStopped;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.TransactionException;

/**
 * Groups in flight: some at once, each to its stored end. A failed group is counted; only several in a row, over all
 * groups as they end, stop the training.
 */
public final class Collector<T> implements AutoCloseable {
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Semaphore room;
    private final int failuresInRow;
    private final TrainingContext.Desk desk;
    private final Map<Long, CompletableFuture<T>> flying = new HashMap<>();
    private int failed;

    /**
     * @param inFlight most groups at once
     * @param failuresInRow failures after which {@link #await} gives up
     */
    public Collector(int inFlight, int failuresInRow, TrainingContext.Desk desk) {
        this.room = new Semaphore(inFlight);
        this.failuresInRow = failuresInRow;
        this.desk = desk;
    }

    /** One group's way to its stored end. */
    public interface Work<T> {
        /**
         * Blocks until the group has ended.
         *
         * @throws RolloutFailure when it failed; it is stored so
         */
        T run();
    }

    /** Begins a group, unless it is under way. */
    public synchronized void begin(long number, Work<T> work) {
        flying.computeIfAbsent(
                number,
                key -> CompletableFuture.supplyAsync(
                        () -> {
                            room.acquireUninterruptibly();
                            try {
                                return work.run();
                            } finally {
                                room.release();
                            }
                        },
                        threads));
    }

    /**
     * What some groups came to.
     *
     * @param sampled those that did not fail, in the order asked for
     */
    public record Ended<T>(List<T> sampled, List<RolloutFailure> failures) {}

    /**
     * Waits for groups.
     *
     * @throws PlatformException of type RESOURCES when too many have failed in a row
     * @throws TrainingStopped when the run is to stop
     * @throws DataAccessException when the store is away; what is ordered is taken up by a later start
     */
    public Ended<T> await(List<Long> numbers) {
        List<T> sampled = new ArrayList<>();
        List<RolloutFailure> failures = new ArrayList<>();
        for (long number : numbers) {
            CompletableFuture<T> group;
            synchronized (this) {
                group = flying.get(number);
            }
            if (group == null) {
                throw new IllegalStateException("group " + number + " was not begun");
            }
            try {
                sampled.add(get(group));
                failed = 0;
            } catch (RolloutFailure e) {
                failures.add(e);
                failed++;
                if (failed >= failuresInRow) {
                    forget(numbers);
                    throw new PlatformException(
                            e.code().type() == ErrorType.RESOURCES ? e.code() : ErrorCode.SOLVER_UNAVAILABLE,
                            failed + " groups in a row came to nothing, the last one so: " + e.why());
                }
            }
        }
        forget(numbers);
        return new Ended<>(sampled, failures);
    }

    private synchronized void forget(List<Long> numbers) {
        numbers.forEach(flying::remove);
    }

    private T get(CompletableFuture<T> group) {
        while (true) {
            desk.check();
            try {
                return group.get(500, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                // Looks again whether the run is to stop.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new TrainingStopped("interrupted");
            } catch (ExecutionException e) {
                Throwable cause = e.getCause() == null ? e : e.getCause();
                if (cause instanceof RolloutFailure
                        || cause instanceof TrainingStopped
                        || cause instanceof DataAccessException
                        || cause instanceof TransactionException) {
                    throw (RuntimeException) cause;
                }
                throw new IllegalStateException("a group broke off: " + cause, cause);
            }
        }
    }

    /** Whether no group is under way. */
    public synchronized boolean idle() {
        return flying.values().stream().allMatch(CompletableFuture::isDone);
    }

    /** Leaves all groups; what is ordered goes on at proposer-service and is taken up by a later start. */
    @Override
    public void close() {
        threads.shutdownNow();
    }
}
