package org.harnesslearning.executor.execution;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.executor.broker.ModelBroker;
import org.harnesslearning.executor.broker.RunBudgetException;
import org.harnesslearning.executor.broker.SolverUnavailableException;
import org.harnesslearning.executor.broker.ToolBroker;
import org.harnesslearning.executor.broker.ToolUnavailableException;
import org.harnesslearning.executor.sandbox.Broker;
import org.harnesslearning.executor.sandbox.HarnessSandbox;
import org.harnesslearning.executor.sandbox.SandboxFaultException;
import org.harnesslearning.executor.sandbox.SandboxResult;
import org.harnesslearning.executor.sandbox.Sandboxes;
import org.harnesslearning.store.execution.QuestionResults;
import org.harnesslearning.store.execution.ResultKey;
import org.harnesslearning.tasks.Scorer;
import org.harnesslearning.tasks.ScoringException;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.DataAccessException;

/**
 * One sandbox at a time, and the questions asked in it one after the other. A question that costs the container does not
 * cost the ones after it: they go on in a fresh one. For one thread.
 */
final class Lane implements AutoCloseable {
    private final ExecutionRequest request;
    private final Sandboxes sandboxes;
    private final ModelBroker broker;
    private final ToolBroker tools;
    private final QuestionResults results;
    private final Scorer scorer;
    private final ExecutionSettings settings;
    private final MeterRegistry metrics;
    private final ObservationRegistry observations;
    private @Nullable HarnessSandbox sandbox;
    private @Nullable Observation span;

    Lane(
            ExecutionRequest request,
            Sandboxes sandboxes,
            ModelBroker broker,
            ToolBroker tools,
            QuestionResults results,
            Scorer scorer,
            ExecutionSettings settings,
            MeterRegistry metrics,
            ObservationRegistry observations) {
        this.request = request;
        this.sandboxes = sandboxes;
        this.broker = broker;
        this.tools = tools;
        this.results = results;
        this.scorer = scorer;
        this.settings = settings;
        this.metrics = metrics;
        this.observations = observations;
    }

    /**
     * Runs, scores and commits one question.
     *
     * @return what is committed under the key: this result, or that of an executor that was faster
     * @throws EndedException when the execution can't go on
     */
    QuestionResult answer(Item item, ResultKey key) throws InterruptedException {
        try {
            long wait = settings.backoff().toMillis();
            int ownEnds = 0;
            for (int attempt = 1; ; attempt++) {
                Calls calls = new Calls(key);
                SandboxResult ended = ask(item, calls);
                if (!(ended instanceof SandboxResult.SandboxFault fault)) {
                    return commit(key, calls.id(), result(item, ended, calls));
                }
                if (fault.ownEnd() && ++ownEnds == 2) {
                    // The engine is well and the same question ended its container twice: that is the harness's doing.
                    HarnessError error =
                            new HarnessError("SandboxViolation", "The harness ended its sandbox", List.of());
                    SandboxResult violation = new SandboxResult.Crashed(error, true, SandboxResult.Output.EMPTY);
                    return commit(key, calls.id(), result(item, violation, calls));
                }
                if (attempt >= settings.attempts()) {
                    throw new EndedException(
                            Ending.failed(OutcomeCode.SANDBOX_FAULT, fault.message()),
                            new SandboxFaultException(fault.message(), null));
                }
                Thread.sleep(wait);
                wait *= 2;
            }
        } catch (RunBudgetException e) {
            throw new EndedException(Ending.budget("The run's budget is used up: " + e.getMessage()), e);
        } catch (SolverUnavailableException e) {
            throw new EndedException(Ending.failed(OutcomeCode.SOLVER_UNAVAILABLE, String.valueOf(e.getMessage())), e);
        } catch (ToolUnavailableException e) {
            throw new EndedException(Ending.failed(OutcomeCode.TOOL_UNAVAILABLE, String.valueOf(e.getMessage())), e);
        } catch (Broker.PendingCallException e) {
            OutcomeCode code = e.tool() ? OutcomeCode.TOOL_UNAVAILABLE : OutcomeCode.SOLVER_UNAVAILABLE;
            throw new EndedException(Ending.failed(code, String.valueOf(e.getMessage())), e);
        } catch (ScoringException e) {
            throw new EndedException(
                    Ending.failed(OutcomeCode.SANDBOX_FAULT, "The scorer failed: " + e.getMessage()), e);
        } catch (DataAccessException e) {
            throw new EndedException(
                    Ending.failed(OutcomeCode.STORE_ERROR, "The database failed: " + e.getMessage()), e);
        }
    }

    private SandboxResult ask(Item item, Broker calls) throws InterruptedException {
        try {
            if (sandbox != null && !sandbox.usable()) {
                close();
            }
            HarnessSandbox open = sandbox == null ? open() : sandbox;
            // The tracer takes the span in scope for the parent, so the sandbox's scope is opened first.
            try (Observation.Scope _ = Objects.requireNonNull(span).openScope()) {
                Observation question =
                        Observation.start("executor.question", observations).contextualName("question");
                try (Observation.Scope _ = question.openScope()) {
                    return open.ask(item.question(), calls);
                } finally {
                    question.stop();
                }
            }
        } catch (SandboxFaultException e) {
            close();
            return new SandboxResult.SandboxFault(String.valueOf(e.getMessage()), e.ownEnd());
        }
    }

    private SandboxKit kit() {
        return Objects.requireNonNullElse(request.kit(), SandboxKit.NONE);
    }

    /** The calls of one try of one question. */
    private final class Calls implements Broker {
        private final ModelBroker.Attempt model;
        private final ToolBroker.Attempt tools;

        Calls(ResultKey key) {
            model = broker.attempt(request.runId(), key, request.solver(), request.limits());
            tools = Lane.this.tools.attempt(request.runId(), model.id(), key, request.kit());
        }

        UUID id() {
            return model.id();
        }

        @Override
        public Answer call(Request asked) throws InterruptedException {
            return model.call(asked);
        }

        @Override
        public ToolAnswer tool(ToolRequest asked) throws InterruptedException {
            return tools.call(asked);
        }
    }

    private HarnessSandbox open() throws InterruptedException {
        // From the wait for a place to the container's end.
        span = Observation.start("executor.sandbox", observations).contextualName("sandbox");
        HarnessSandbox opened = sandboxes.open(request.id(), request.source(), request.limits(), kit());
        sandbox = opened;
        return opened;
    }

    private QuestionResult result(Item item, SandboxResult ended, Calls calls) throws InterruptedException {
        return switch (ended) {
            case SandboxResult.Completed completed -> {
                String answer = completed.answer().strip();
                double score = score(item, answer);
                yield result(item, QuestionCode.OK, score, answer, null, completed.output(), calls);
            }
            case SandboxResult.TimedOut timedOut ->
                result(item, QuestionCode.TIMEOUT, 0, null, null, timedOut.output(), calls);
            case SandboxResult.OutOfMemory outOfMemory ->
                result(item, QuestionCode.MEMORY, 0, null, null, outOfMemory.output(), calls);
            case SandboxResult.OutputLimit outputLimit ->
                result(item, QuestionCode.OUTPUT_LIMIT, 0, null, null, outputLimit.output(), calls);
            case SandboxResult.BudgetExceeded exceeded ->
                result(item, QuestionCode.CALL_BUDGET, 0, null, exceeded.error(), exceeded.output(), calls);
            case SandboxResult.Crashed crashed ->
                result(
                        item,
                        crashed.violation() ? QuestionCode.SANDBOX_VIOLATION : QuestionCode.ERROR,
                        0,
                        null,
                        crashed.error(),
                        crashed.output(),
                        calls);
            case SandboxResult.SandboxFault fault ->
                throw new IllegalArgumentException("a fault is no result: " + fault.message());
        };
    }

    private QuestionResult result(
            Item item,
            QuestionCode code,
            double score,
            @Nullable String answer,
            @Nullable HarnessError error,
            SandboxResult.Output output,
            Calls calls) {
        return new QuestionResult(
                item.hash(),
                request.repeat(),
                code,
                score,
                score == 1.0,
                answer,
                error,
                new QuestionResult.Trace(
                        output.stdout(),
                        output.stderr(),
                        output.log(),
                        calls.model.trace(),
                        output.pythonRuns(),
                        calls.tools.trace()),
                calls.model.usage());
    }

    private double score(Item item, String answer) throws InterruptedException {
        long wait = settings.backoff().toMillis();
        for (int attempt = 1; ; attempt++) {
            try {
                return scorer.score(item, answer).value();
            } catch (ScoringException e) {
                if (attempt >= settings.attempts()) {
                    throw e;
                }
                Thread.sleep(wait);
                wait *= 2;
            }
        }
    }

    private QuestionResult commit(ResultKey key, UUID attempt, QuestionResult result) throws InterruptedException {
        long wait = settings.backoff().toMillis();
        for (int tried = 1; ; tried++) {
            try {
                if (results.commit(key, request.runId(), attempt, result)) {
                    metrics.counter("executor.questions", "code", result.code().name())
                            .increment();
                    return result;
                }
                return results.find(key).orElseThrow();
            } catch (DataAccessException e) {
                if (tried >= settings.attempts()) {
                    throw e;
                }
                Thread.sleep(wait);
                wait *= 2;
            }
        }
    }

    @Override
    public void close() {
        if (sandbox != null) {
            sandbox.close();
            sandbox = null;
        }
        if (span != null) {
            span.stop();
            span = null;
        }
    }
}
