package org.harnesslearning.executor.execution;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.executor.broker.ModelBroker;
import org.harnesslearning.executor.broker.ToolBroker;
import org.harnesslearning.executor.sandbox.Sandboxes;
import org.harnesslearning.store.execution.QuestionResults;
import org.harnesslearning.store.execution.ResultKey;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.tasks.Scorer;
import org.harnesslearning.tasks.Scorers;

/**
 * All executions of this process, by id. The truth is in the store: what this process has forgotten, or another one has
 * begun, is resumed by the same request, and no committed question is computed again.
 */
public final class Executions implements AutoCloseable {
    private static final int MAX_ITEMS = 10_000;
    private static final int MAX_SOURCE = 1 << 20;

    private final Sandboxes sandboxes;
    private final ModelBroker broker;
    private final ToolBroker tools;
    private final QuestionResults results;
    private final RunBudgets budgets;
    private final Scorers scorers;
    private final ExecutionSettings settings;
    private final MeterRegistry metrics;
    private final ObservationRegistry observations;
    private final Map<ResultKey, CompletableFuture<QuestionResult>> flights = new ConcurrentHashMap<>();

    /** In order of their start; ended ones beyond the settings' number are forgotten, oldest first. */
    private final Map<String, Execution> executions = new LinkedHashMap<>();

    private boolean closed;

    public Executions(
            Sandboxes sandboxes,
            ModelBroker broker,
            ToolBroker tools,
            QuestionResults results,
            RunBudgets budgets,
            Scorers scorers,
            ExecutionSettings settings,
            MeterRegistry metrics,
            ObservationRegistry observations) {
        this.sandboxes = sandboxes;
        this.broker = broker;
        this.tools = tools;
        this.results = results;
        this.budgets = budgets;
        this.scorers = scorers;
        this.settings = settings;
        this.metrics = metrics;
        this.observations = observations;
    }

    /**
     * Starts an execution or attaches to it, and waits for its end.
     *
     * @throws PlatformException INVALID_FIELD, IDEMPOTENCY_MISMATCH for an id in use with another request,
     *     INVALID_STATE when the run's budget was never opened, QUEUE_FULL with the seconds to wait, DRAINING
     */
    public ExecutionStatus execute(ExecutionRequest request, Duration wait) throws InterruptedException {
        validate(request);
        Scorer scorer = scorers.forRef(request.scorer());
        if (budgets.find(request.runId()).isEmpty()) {
            throw new PlatformException(
                    ErrorCode.INVALID_STATE, "The budget of run " + request.runId() + " is not open");
        }
        Duration most = wait.compareTo(settings.maxWait()) > 0 ? settings.maxWait() : wait;
        return attach(request, scorer).await(Math.max(0, most.toMillis()));
    }

    private synchronized Execution attach(ExecutionRequest request, Scorer scorer) {
        if (closed) {
            throw new PlatformException(ErrorCode.DRAINING, "The executor is shutting down");
        }
        Execution known = executions.get(request.id());
        if (known != null && !known.mayRestart()) {
            if (!known.request().equals(request)) {
                throw new PlatformException(
                        ErrorCode.IDEMPOTENCY_MISMATCH,
                        "The execution " + request.id() + " was begun with another request");
            }
            return known;
        }
        OptionalInt retryAfter = sandboxes.retryAfterS(request.limits());
        if (retryAfter.isPresent()) {
            throw new PlatformException(
                    ErrorCode.QUEUE_FULL,
                    "As many executions wait for a sandbox as may",
                    List.of(),
                    retryAfter.getAsInt(),
                    null);
        }
        Execution execution = new Execution(
                request,
                results,
                () -> new Lane(request, sandboxes, broker, tools, results, scorer, settings, metrics, observations),
                flights,
                sandboxes.gaps(),
                observations);
        executions.remove(request.id());
        executions.put(request.id(), execution);
        forgetOld();
        execution.start();
        return execution;
    }

    private void forgetOld() {
        List<String> ended = executions.entrySet().stream()
                .filter(entry -> entry.getValue().isEnded())
                .map(Map.Entry::getKey)
                .toList();
        ended.stream().limit(Math.max(0, ended.size() - settings.kept())).forEach(executions::remove);
    }

    /** Stops an execution; finished questions stay stored. Unknown ids and ended executions are ignored. */
    public void cancel(String id) {
        Execution execution;
        synchronized (this) {
            execution = executions.get(id);
        }
        if (execution != null) {
            execution.stop(Ending.CANCELLED);
        }
    }

    private static void validate(ExecutionRequest request) {
        if (request.id().isBlank() || request.id().length() > 200) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/id", "An id has 1 to 200 characters");
        }
        if (request.items().isEmpty() || request.items().size() > MAX_ITEMS) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/items", "There are 1 to " + MAX_ITEMS + " items");
        }
        if (request.source().length() > MAX_SOURCE) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/source", "The harness is longer than 1 MiB");
        }
        if (request.lanes() < 1 || request.repeat() < 0) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/lanes", "Lanes are at least 1 and the repeat is not negative");
        }
        if (request.limits().questionWallClockS() < 1
                || request.limits().memoryMib() < 32
                || request.limits().solverCallsPerQuestion() < 0) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD,
                    "/limits",
                    "A question has at least 1 second and 32 MiB, and calls are not negative");
        }
    }

    /** Ends all executions; whoever waits for one is told that it failed here, and can resume it elsewhere. */
    @Override
    public void close() {
        List<Execution> all;
        synchronized (this) {
            closed = true;
            all = List.copyOf(executions.values());
        }
        all.forEach(
                execution -> execution.stop(Ending.failed(OutcomeCode.WORKER_LOST, "The executor is shutting down")));
    }
}
