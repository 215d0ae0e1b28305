package org.harnesslearning.executor.broker;

import io.micrometer.core.instrument.MeterRegistry;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.ModelCall;
import org.harnesslearning.contracts.execution.SolverSettings;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.executor.sandbox.Broker;
import org.harnesslearning.store.execution.ModelCalls;
import org.harnesslearning.store.execution.ResultKey;
import org.harnesslearning.store.execution.RunBudgets;
import org.jspecify.annotations.Nullable;
import org.springframework.web.client.ResourceAccessException;

/** Makes the brokers of questions. Thread-safe; an {@link Attempt} serves one try of one question. */
public final class ModelBroker {
    private final ModelApi model;
    private final ModelCalls calls;
    private final RunBudgets budgets;
    private final BrokerSettings settings;
    private final Clock clock;
    private final Supplier<UUID> ids;
    private final MeterRegistry metrics;

    public ModelBroker(
            ModelApi model,
            ModelCalls calls,
            RunBudgets budgets,
            BrokerSettings settings,
            Clock clock,
            Supplier<UUID> ids,
            MeterRegistry metrics) {
        this.model = model;
        this.calls = calls;
        this.budgets = budgets;
        this.settings = settings;
        this.clock = clock;
        this.ids = ids;
        this.metrics = metrics;
    }

    /** A broker for one try of one question, paid by a run. */
    public Attempt attempt(String runId, ResultKey key, SolverSettings solver, Limits limits) {
        return new Attempt(runId, key, solver, limits);
    }

    /**
     * One try of one question. A call is booked in the ledger before it starts and when it ends, so that calls of lost
     * attempts are counted too.
     */
    public final class Attempt implements Broker {
        private final UUID id = ids.get();
        private final String runId;
        private final ResultKey key;
        private final SolverSettings solver;
        private final Limits limits;
        private final List<ModelCall> trace = new ArrayList<>();
        private Usage usage = Usage.ZERO;
        private int made;

        private Attempt(String runId, ResultKey key, SolverSettings solver, Limits limits) {
            this.runId = runId;
            this.key = key;
            this.solver = solver;
            this.limits = limits;
        }

        /** Names the attempt in the ledger. */
        public UUID id() {
            return id;
        }

        /** The calls so far, texts shortened. */
        public synchronized List<ModelCall> trace() {
            return List.copyOf(trace);
        }

        /** Calls, tokens and time so far. */
        public synchronized Usage usage() {
            return usage;
        }

        /**
         * {@inheritDoc}
         *
         * @throws RunBudgetException when the run may not make another call
         * @throws SolverUnavailableException when the model gives no answer after all tries
         */
        @Override
        public synchronized Answer call(Request request) throws InterruptedException {
            if (made >= limits.solverCallsPerQuestion()) {
                throw new CallBudgetException(limits.solverCallsPerQuestion());
            }
            UUID call = ids.get();
            if (!calls.begin(call, runId, id, key)) {
                throw new RunBudgetException(budgets.find(runId)
                        .map(budget -> budget.exhausted(clock.instant()))
                        .orElse("the run has no budget"));
            }
            made++;
            long start = System.nanoTime();
            ChatResponse response = null;
            String error = null;
            try {
                response = ask(chat(request));
            } catch (PlatformException e) {
                error = String.valueOf(e.getMessage());
            } finally {
                long ms = (System.nanoTime() - start) / 1_000_000;
                int prompt = response == null ? 0 : response.usage().promptTokens();
                int completion = response == null ? 0 : response.usage().completionTokens();
                usage = usage.plus(new Usage(1, prompt, completion, ms));
                trace.add(traced(request, response, error, prompt, completion, ms));
                count(prompt, completion);
                end(call, response != null, prompt, completion, ms);
            }
            if (response == null) {
                return new Answer.Refused(String.valueOf(error));
            }
            return new Answer.Reply(text(response.choices().getFirst()));
        }

        private void count(int prompt, int completion) {
            metrics.counter("model.calls", "role", "solver", "model", solver.model())
                    .increment();
            metrics.counter("model.tokens", "role", "solver", "model", solver.model(), "type", "prompt")
                    .increment(prompt);
            metrics.counter("model.tokens", "role", "solver", "model", solver.model(), "type", "completion")
                    .increment(completion);
        }

        /** The interrupt of a cancelled call must not keep its end from being booked. */
        private void end(UUID call, boolean ok, int prompt, int completion, long ms) {
            boolean interrupted = Thread.interrupted();
            try {
                calls.end(call, ok, prompt, completion, ms);
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        /** Sampling differs between items, repeats and calls, and is the same again for the same three. */
        private long seed() {
            String hash = Hashes.json(List.of(key.itemHash(), key.repeat(), made));
            return Long.parseUnsignedLong(hash.substring(hash.length() - 16), 16) >>> 1;
        }

        private ChatRequest chat(Request request) {
            Integer wanted = request.maxTokens();
            Double temperature = request.temperature();
            return new ChatRequest(
                    solver.model(),
                    request.messages(),
                    wanted == null ? solver.maxTokens() : Math.min(wanted, solver.maxTokens()),
                    temperature == null ? solver.temperature() : temperature,
                    solver.topP(),
                    null,
                    1,
                    seed(),
                    null,
                    request.stop(),
                    null,
                    null,
                    null,
                    null,
                    null);
        }

        private ModelCall traced(
                Request request,
                @Nullable ChatResponse response,
                @Nullable String error,
                int prompt,
                int completion,
                long ms) {
            ChatResponse.Choice choice =
                    response == null ? null : response.choices().getFirst();
            return new ModelCall(
                    settings.shortened(request.messages()),
                    choice == null ? null : settings.shortened(text(choice)),
                    choice == null ? null : choice.finishReason(),
                    error,
                    prompt,
                    completion,
                    ms);
        }
    }

    /**
     * Asks the model, again while it is away or full.
     *
     * @throws PlatformException when the request itself is at fault
     */
    private ChatResponse ask(ChatRequest request) throws InterruptedException {
        long wait = settings.backoff().toMillis();
        for (int attempt = 1; ; attempt++) {
            Throwable failure;
            long asked = 0;
            try {
                ChatResponse response = model.chat(request);
                if (!response.choices().isEmpty()
                        && !"error".equals(response.choices().getFirst().finishReason())) {
                    return response;
                }
                failure = new IllegalStateException("the model endpoint sent no reply");
            } catch (PlatformException e) {
                switch (e.code()) {
                    case INVALID_FIELD, TOO_LARGE -> {
                        if (e.errors().stream().allMatch(error -> ofTheHarness(error.pointer()))) {
                            throw e;
                        }
                        throw new SolverUnavailableException("The solver refuses the settings: " + e.getMessage(), e);
                    }
                    case RATE_LIMITED, QUEUE_FULL, INTERNAL, DRAINING, SOLVER_UNAVAILABLE -> {}
                    case MALFORMED_JSON,
                            UNKNOWN_FIELD,
                            UNKNOWN_FAMILY,
                            UNKNOWN_MODEL,
                            UNKNOWN_IMAGE,
                            UNKNOWN_TOOL,
                            INVALID_HARNESS,
                            NOT_UTF8,
                            BUDGET_TOO_SMALL,
                            MISSING_KEY,
                            INVALID_KEY,
                            INSUFFICIENT_SCOPE,
                            NOT_FOUND,
                            METHOD_NOT_ALLOWED,
                            NOT_ACCEPTABLE,
                            INVALID_STATE,
                            NOT_FINISHED,
                            IDEMPOTENCY_MISMATCH,
                            IDEMPOTENCY_IN_PROGRESS,
                            PROMOTION_REFUSED,
                            UNSUPPORTED_MEDIA_TYPE,
                            OVERLAPPING_SPLITS,
                            MISSING_HELD_OUT,
                            SANDBOX_UNAVAILABLE ->
                        throw new SolverUnavailableException("The solver refuses calls: " + e.getMessage(), e);
                }
                failure = e;
                Integer seconds = e.retryAfterSeconds();
                asked = seconds == null ? 0 : seconds * 1000L;
            } catch (ResourceAccessException e) {
                failure = e;
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            if (attempt >= settings.attempts()) {
                throw new SolverUnavailableException(
                        "The solver gave no answer in " + attempt + " tries: " + failure.getMessage(), failure);
            }
            Thread.sleep(Math.min(Math.max(wait, asked), settings.maxBackoff().toMillis()));
            wait *= 2;
        }
    }

    /** The reply's text; some endpoints send none for an empty reply. */
    private static String text(ChatResponse.Choice choice) {
        return Objects.requireNonNullElse(choice.message().content(), "");
    }

    /** Whether the harness chose this field of a request, not the platform. */
    private static boolean ofTheHarness(String pointer) {
        return Stream.of("/messages", "/max_tokens", "/temperature", "/stop").anyMatch(pointer::startsWith);
    }
}
