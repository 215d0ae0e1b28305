package org.harnesslearning.executor.execution;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.trace.WorkContext;
import org.harnesslearning.store.execution.QuestionResults;
import org.harnesslearning.store.execution.ResultKey;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;

/**
 * One request being worked off. It is RUNNING until its ending is known, and ends once:
 *
 * <pre>
 * RUNNING → DONE       every item has a committed result
 * RUNNING → FAILED     the solver, the sandboxes or the store failed beyond all retries, or this process stops
 * RUNNING → BUDGET     the run may not make another call
 * RUNNING → CANCELLED  {@link #cancel}
 * </pre>
 *
 * After the first ending is known the other lanes finish the question they are at, since its calls are paid; a
 * cancellation interrupts them.
 */
final class Execution {
    private static final Logger LOG = LoggerFactory.getLogger(Execution.class);

    private final ExecutionRequest request;
    private final QuestionResults store;
    private final Supplier<Lane> lanes;
    private final Map<ResultKey, CompletableFuture<QuestionResult>> flights;
    private final List<String> gaps;
    private final ObservationRegistry observations;
    private final String harnessHash;
    private final String scorerHash;
    private final Map<String, QuestionResult> results = new ConcurrentHashMap<>();
    private final CompletableFuture<Ending> firstEnding = new CompletableFuture<>();
    private final CompletableFuture<Ending> ended = new CompletableFuture<>();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private volatile int cached;

    /** Whether some caller has been told the ending. */
    private volatile boolean told;

    /**
     * @param lanes makes a lane
     * @param flights keys that this process computes now, shared by all executions
     * @param gaps protections that this host lacks
     * @param observations what traces the work
     */
    Execution(
            ExecutionRequest request,
            QuestionResults store,
            Supplier<Lane> lanes,
            Map<ResultKey, CompletableFuture<QuestionResult>> flights,
            List<String> gaps,
            ObservationRegistry observations) {
        this.request = request;
        this.store = store;
        this.lanes = lanes;
        this.flights = flights;
        this.gaps = gaps;
        this.observations = observations;
        this.harnessHash = Hashes.harness(request.source());
        this.scorerHash = Hashes.json(request.scorer());
    }

    ExecutionRequest request() {
        return request;
    }

    /** Starts the work in the background. */
    void start() {
        // Begun here, in the request's thread, so that it belongs to the caller's trace; it outlives the request.
        Observation observation =
                Observation.start("executor.execution", observations).contextualName("execution");
        WorkContext context;
        try (WorkContext.Fields _ = WorkContext.named(request.runId(), null);
                Observation.Scope _ = observation.openScope()) {
            context = WorkContext.current();
        }
        Thread.ofVirtual().name("execution").start(context.wrap(() -> {
            try {
                run();
            } finally {
                observation.stop();
            }
        }));
    }

    private void run() {
        Ending ending;
        try {
            ending = work();
        } catch (DataAccessException e) {
            ending = Ending.failed(OutcomeCode.STORE_ERROR, "The database failed: " + e.getMessage());
        } catch (RuntimeException e) {
            LOG.error("execution {} failed", request.id(), e);
            ending = Ending.failed(OutcomeCode.SANDBOX_FAULT, "The executor failed: " + e);
        }
        threads.close();
        Ending last = firstEnding.getNow(ending);
        LOG.info(
                "execution {} {}, {} results, {} of them stored before",
                request.id(),
                last.state(),
                results.size(),
                cached);
        ended.complete(last);
    }

    private Ending work() {
        Map<String, Item> items = new LinkedHashMap<>();
        request.items().forEach(item -> items.put(item.hash(), item));
        results.putAll(store.find(harnessHash, request.repeat(), request.solverHash(), scorerHash, items.keySet()));
        cached = results.size();
        if (cached > 0) {
            use(List.copyOf(results.keySet()));
        }
        Queue<Item> queue = new ConcurrentLinkedQueue<>();
        items.forEach((hash, item) -> {
            if (!results.containsKey(hash)) {
                queue.add(item);
            }
        });
        List<Future<?>> running = new ArrayList<>();
        int width = Math.min(request.lanes(), queue.size());
        WorkContext context = WorkContext.current();
        for (int lane = 0; lane < width; lane++) {
            running.add(threads.submit(context.wrap(() -> drain(queue))));
        }
        for (Future<?> lane : running) {
            try {
                lane.get();
            } catch (ExecutionException e) {
                LOG.error("execution {} failed", request.id(), e.getCause());
                firstEnding.complete(Ending.failed(OutcomeCode.SANDBOX_FAULT, "The executor failed: " + e.getCause()));
            } catch (InterruptedException e) {
                throw new IllegalStateException("nobody interrupts this thread", e);
            }
        }
        return Ending.DONE;
    }

    /** Writes down that these results are not this run's own, where they are not. */
    private void use(List<String> itemHashes) {
        store.use(request.runId(), harnessHash, request.repeat(), request.solverHash(), scorerHash, itemHashes);
    }

    private void drain(Queue<Item> queue) {
        try (Lane lane = lanes.get()) {
            while (!firstEnding.isDone()) {
                Item item = queue.poll();
                if (item == null) {
                    return;
                }
                results.put(item.hash(), once(item, lane));
            }
        } catch (EndedException e) {
            LOG.warn("execution {} ends: {}", request.id(), e.getMessage());
            firstEnding.complete(e.ending());
        } catch (InterruptedException e) {
            firstEnding.complete(Ending.CANCELLED);
        }
    }

    /** The result of an item, computed by one lane of this process at most. */
    private QuestionResult once(Item item, Lane lane) throws InterruptedException {
        ResultKey key = new ResultKey(harnessHash, item.hash(), request.repeat(), request.solverHash(), scorerHash);
        while (true) {
            CompletableFuture<QuestionResult> mine = new CompletableFuture<>();
            CompletableFuture<QuestionResult> other = flights.putIfAbsent(key, mine);
            if (other == null) {
                try {
                    // Another execution may have committed it since this one looked.
                    QuestionResult result = store.find(key).orElse(null);
                    if (result == null) {
                        result = lane.answer(item, key);
                    } else {
                        use(List.of(item.hash()));
                    }
                    mine.complete(result);
                    return result;
                } catch (DataAccessException e) {
                    throw new EndedException(
                            Ending.failed(OutcomeCode.STORE_ERROR, "The database failed: " + e.getMessage()), e);
                } finally {
                    flights.remove(key, mine);
                    mine.cancel(false);
                }
            }
            try {
                QuestionResult result = other.get();
                use(List.of(item.hash()));
                return result;
            } catch (ExecutionException | CancellationException e) {
                // Whoever computed it stopped without a result: try for it again.
            } catch (DataAccessException e) {
                throw new EndedException(
                        Ending.failed(OutcomeCode.STORE_ERROR, "The database failed: " + e.getMessage()), e);
            }
        }
    }

    /** Ends the execution with a reason, interrupting what runs. */
    void stop(Ending reason) {
        firstEnding.complete(reason);
        threads.shutdownNow();
    }

    /** Waits for the end, at most this long; then where the work stands. */
    ExecutionStatus await(long timeoutMs) throws InterruptedException {
        try {
            ended.get(timeoutMs, TimeUnit.MILLISECONDS);
            told = true;
        } catch (TimeoutException e) {
            // The status says so.
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
        return status();
    }

    boolean isEnded() {
        return ended.isDone();
    }

    /** Whether the same request starts the work anew: it ended unfinished, and someone knows. */
    boolean mayRestart() {
        if (!told || !ended.isDone()) {
            return false;
        }
        return switch (ended.join().state()) {
            case FAILED, BUDGET -> true;
            case RUNNING, DONE, CANCELLED -> false;
        };
    }

    private ExecutionStatus status() {
        Ending ending = ended.getNow(null);
        List<QuestionResult> inOrder = new ArrayList<>();
        for (Item item : request.items()) {
            QuestionResult result = results.get(item.hash());
            if (result != null) {
                inOrder.add(result);
            }
        }
        return new ExecutionStatus(
                request.id(),
                ending == null ? ExecutionStatus.State.RUNNING : ending.state(),
                inOrder,
                cached,
                ending == null ? null : ending.failure(),
                ending == null ? null : ending.message(),
                gaps);
    }
}
