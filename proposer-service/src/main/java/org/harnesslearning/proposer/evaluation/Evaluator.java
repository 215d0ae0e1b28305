package org.harnesslearning.proposer.evaluation;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunEvents;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunStop;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;

/**
 * Scores a harness through the executor, which commits question by question. Asking again under the same id never
 * computes a committed question twice, so this class only has to ask until the answer is final.
 */
@Component
public class Evaluator {
    private static final Logger LOG = LoggerFactory.getLogger(Evaluator.class);

    private final RunServices services;
    private final RunEvents events;
    private final ExecutorApi executor;

    Evaluator(RunServices services, RunEvents events, ExecutorApi executor) {
        this.services = services;
        this.events = events;
        this.executor = executor;
    }

    /**
     * Measures a harness and waits for the end.
     *
     * @param name part of the id between run and split, such as {@code r1/c0}
     * @param harness its hash
     * @throws RunStop when the run has to be left; the executor is told to stop as well
     */
    public Measurement measure(
            RunContext run,
            String name,
            int round,
            @Nullable Integer candidate,
            EvaluationRow.Role role,
            Split split,
            int repeat,
            String harness) {
        List<Item> items = run.items(split);
        String id = run.id() + "/" + name + "/" + split.json() + "/" + repeat;
        services.evaluations()
                .open(
                        run.id(),
                        new EvaluationRow(
                                id,
                                round,
                                candidate,
                                role,
                                split,
                                repeat,
                                harness,
                                items.size(),
                                EvaluationRow.State.RUNNING,
                                0,
                                List.of(),
                                null,
                                null));
        ExecutionRequest request = new ExecutionRequest(
                id,
                run.id(),
                split,
                services.harnesses().source(harness),
                items,
                repeat,
                run.plan().scorer(),
                run.settings().solver(),
                run.plan().solverHash(),
                run.settings().limits(),
                services.properties().questionLanes(),
                run.plan().kit());
        EvaluationRow row = services.evaluations().find(id).orElseThrow();
        return ask(run, request, row.attempts(), row.results().size());
    }

    /**
     * Asks until the answer is final. An execution that was cancelled (by a pause) stays so under its id; it goes on under
     * an id with a higher generation, and finds all committed questions in the store.
     */
    private Measurement ask(RunContext run, ExecutionRequest first, int earlierAttempts, int known) {
        ExecutionRequest request = first;
        int generation = 0;
        int attempts = earlierAttempts;
        int committed = known;
        int tries = 0;
        Patience patience = services.properties().patience();
        while (true) {
            String executionId = request.id();
            orCancel(run::check, executionId);
            OutcomeCode failure = OutcomeCode.SANDBOX_FAULT;
            String message = "the executor gave no reason";
            try {
                ExecutionStatus status = executor.execute(
                        request, (int) services.properties().pollWait().toSeconds());
                boolean ended = status.state() != ExecutionStatus.State.RUNNING
                        && status.state() != ExecutionStatus.State.CANCELLED;
                if (ended || status.results().size() > committed) {
                    committed = status.results().size();
                    store(run, first.id(), status, attempts);
                }
                switch (status.state()) {
                    case DONE -> {
                        return new Measurement.Done(status.results());
                    }
                    case BUDGET -> {
                        return new Measurement.CutOff(
                                status.message() == null ? "the budget is used up" : status.message());
                    }
                    case RUNNING -> {
                        continue;
                    }
                    case CANCELLED -> {
                        request = renamed(first, ++generation);
                        continue;
                    }
                    case FAILED -> {
                        failure = status.failure() == null ? failure : status.failure();
                        message = status.message() == null ? message : status.message();
                    }
                }
            } catch (PlatformException e) {
                Optional<Duration> wait = patience.after(e);
                if (wait.isPresent()) {
                    orCancel(() -> run.pause(wait.get(), 1), executionId);
                    continue;
                }
                if (e.code() == ErrorCode.IDEMPOTENCY_MISMATCH) {
                    request = renamed(first, ++generation);
                }
                failure = code(e.code());
                message = String.valueOf(e.getMessage());
            } catch (RestClientException e) {
                failure = OutcomeCode.WORKER_LOST;
                message = "the executor can't be reached";
            }
            tries++;
            attempts++;
            LOG.warn("{} failed, try {}: {}: {}", executionId, tries, failure, message);
            OutcomeCode code = failure;
            String text = message;
            int count = attempts;
            services.evaluations()
                    .find(first.id())
                    .ifPresent(row -> services.evaluations()
                            .update(first.id(), EvaluationRow.State.FAILED, count, row.results(), code, text));
            if (tries >= services.properties().attempts()) {
                return new Measurement.Failed(failure, message, attempts);
            }
            int row = tries;
            orCancel(() -> run.pause(services.properties().retryDelay(), row), executionId);
        }
    }

    private static ExecutionRequest renamed(ExecutionRequest request, int generation) {
        return new ExecutionRequest(
                request.id() + "~" + generation,
                request.runId(),
                request.split(),
                request.source(),
                request.items(),
                request.repeat(),
                request.scorer(),
                request.solver(),
                request.solverHash(),
                request.limits(),
                request.lanes(),
                request.kit());
    }

    private void store(RunContext run, String id, ExecutionStatus status, int attempts) {
        EvaluationRow.State state = switch (status.state()) {
            case DONE -> EvaluationRow.State.DONE;
            case BUDGET -> EvaluationRow.State.BUDGET;
            case FAILED -> EvaluationRow.State.FAILED;
            case RUNNING, CANCELLED -> EvaluationRow.State.RUNNING;
        };
        services.evaluations()
                .update(
                        id,
                        state,
                        attempts,
                        status.results().stream()
                                .map(result -> MeasuredQuestion.of(result, status.sandboxGaps()))
                                .toList(),
                        status.failure(),
                        status.message());
        events.progress(run);
    }

    /** Leaves the run when it has to be left, and stops what the executor does for it. */
    private void orCancel(Runnable control, String id) {
        try {
            control.run();
        } catch (RunStop stop) {
            try {
                executor.cancel(id);
            } catch (PlatformException | RestClientException e) {
                LOG.warn("{} could not be cancelled: {}", id, e.getMessage());
            }
            throw stop;
        }
    }

    private static OutcomeCode code(ErrorCode code) {
        if (code == ErrorCode.SOLVER_UNAVAILABLE || code == ErrorCode.UNKNOWN_MODEL) {
            return OutcomeCode.SOLVER_UNAVAILABLE;
        }
        return code.type() == ErrorType.RESOURCES ? OutcomeCode.WORKER_LOST : OutcomeCode.SANDBOX_FAULT;
    }
}
