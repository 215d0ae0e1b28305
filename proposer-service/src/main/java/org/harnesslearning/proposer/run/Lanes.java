package org.harnesslearning.proposer.run;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.harnesslearning.contracts.trace.WorkContext;
import org.jspecify.annotations.Nullable;

/** Does independent units of a run at once, within a bound. */
public final class Lanes {
    private Lanes() {}

    /**
     * Does all units and waits for them.
     *
     * @throws RuntimeException that of the first unit in list order that failed, after all have ended
     */
    public static <T> void each(List<T> units, int lanes, Consumer<T> work) {
        if (units.isEmpty()) {
            return;
        }
        RuntimeException failure = null;
        WorkContext context = WorkContext.current();
        try (ExecutorService pool = Executors.newFixedThreadPool(
                Math.min(lanes, units.size()), Thread.ofVirtual().factory())) {
            List<Future<?>> futures = new ArrayList<>();
            for (T unit : units) {
                futures.add(pool.submit(context.wrap(() -> work.accept(unit))));
            }
            for (Future<?> future : futures) {
                RuntimeException own = await(future, pool);
                failure = failure == null ? own : failure;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    private static @Nullable RuntimeException await(Future<?> future, ExecutorService pool) {
        try {
            future.get();
            return null;
        } catch (InterruptedException e) {
            pool.shutdownNow();
            Thread.currentThread().interrupt();
            return new RunStop(RunStop.Reason.DRAIN, "interrupted");
        } catch (ExecutionException e) {
            return e.getCause() instanceof RuntimeException runtime ? runtime : new IllegalStateException(e.getCause());
        }
    }
}
