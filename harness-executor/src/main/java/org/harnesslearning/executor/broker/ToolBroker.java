package org.harnesslearning.executor.broker;

import io.micrometer.core.instrument.MeterRegistry;
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.harnesslearning.contracts.execution.ToolCall;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.executor.kit.Kits;
import org.harnesslearning.executor.kit.Tool;
import org.harnesslearning.executor.sandbox.Broker;
import org.harnesslearning.store.execution.ResultKey;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.store.execution.ToolCalls;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves {@code env.tool}. A call is checked against the tool's schema, counted for the question, paid from the run's budget
 * and booked in the ledger before it is made. Thread-safe; an {@link Attempt} serves one try of one question.
 */
public final class ToolBroker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ToolBroker.class);

    /** Calls of one question that are refused before they are made: each costs little, but they must have an end. */
    private static final int MOST_REFUSED = 64;

    private final Kits kits;
    private final ToolClient client;
    private final ToolCalls calls;
    private final RunBudgets budgets;
    private final BrokerSettings settings;
    private final Clock clock;
    private final Supplier<UUID> ids;
    private final MeterRegistry metrics;

    public ToolBroker(
            Kits kits,
            ToolCalls calls,
            RunBudgets budgets,
            BrokerSettings settings,
            Clock clock,
            Supplier<UUID> ids,
            MeterRegistry metrics) {
        this.kits = kits;
        this.client = new ToolClient(settings);
        this.calls = calls;
        this.budgets = budgets;
        this.settings = settings;
        this.clock = clock;
        this.ids = ids;
        this.metrics = metrics;
    }

    /** For one try of one question, paid by a run. */
    public Attempt attempt(String runId, UUID attemptId, ResultKey key, @Nullable SandboxKit kit) {
        return new Attempt(runId, attemptId, key, kit == null ? SandboxKit.NONE : kit);
    }

    @Override
    public void close() {
        client.close();
    }

    /** One try of one question. */
    public final class Attempt {
        private final String runId;
        private final UUID attemptId;
        private final ResultKey key;
        private final SandboxKit kit;
        private final Map<String, Integer> made = new HashMap<>();
        private final List<ToolCall> trace = new ArrayList<>();
        private int refused;

        private Attempt(String runId, UUID attemptId, ResultKey key, SandboxKit kit) {
            this.runId = runId;
            this.attemptId = attemptId;
            this.key = key;
            this.kit = kit;
        }

        /** The calls so far, texts shortened. */
        public synchronized List<ToolCall> trace() {
            return List.copyOf(trace);
        }

        /**
         * As {@link Broker#tool}.
         *
         * @throws RunBudgetException when the run may not make another call
         * @throws ToolUnavailableException when the tool gives no answer after all tries
         */
        public synchronized Broker.ToolAnswer call(Broker.ToolRequest request) throws InterruptedException {
            long start = System.nanoTime();
            SandboxTool offered = kit.tool(request.name()).orElse(null);
            Tool tool = offered == null ? null : kits.tool(request.name()).orElse(null);
            if (tool == null) {
                String known = kit.tools().isEmpty()
                        ? "this task has no tools"
                        : "the tools of this task are "
                                + String.join(
                                        ", ",
                                        kit.tools().stream()
                                                .map(SandboxTool::name)
                                                .toList());
                return refuse(request, "unknown", "there is no tool " + request.name() + "; " + known, start);
            }
            String fault = tool.fault(request.arguments());
            if (fault != null) {
                return refuse(
                        request, "arguments", "the tool " + tool.name() + " does not take these: " + fault, start);
            }
            int number = made.merge(tool.name(), 1, Integer::sum);
            int most = tool.offered().callsPerQuestion();
            if (number > most) {
                throw new Broker.CallBudgetException("more than " + most + " calls of the tool " + tool.name());
            }
            UUID id = ids.get();
            if (!calls.begin(id, runId, tool.name(), attemptId, key)) {
                throw new RunBudgetException(budgets.find(runId)
                        .map(budget -> budget.exhausted(clock.instant()))
                        .orElse("the run has no budget"));
            }
            return make(id, tool, request, number, start);
        }

        private Broker.ToolAnswer make(UUID id, Tool tool, Broker.ToolRequest request, int number, long start)
                throws InterruptedException {
            ToolCalls.Outcome outcome = ToolCalls.Outcome.UNAVAILABLE;
            ToolClient.Sent sent = new ToolClient.Sent(null, 0, 0);
            String result = null;
            String error = "interrupted";
            try {
                tool.turns().acquire();
                ToolClient.Answered answered;
                try {
                    answered = client.call(tool, request.arguments(), idempotencyKey(tool, request, number));
                } finally {
                    tool.turns().release();
                }
                sent = answered.sent();
                switch (answered.answer()) {
                    case Broker.ToolAnswer.Result(String text, boolean json) -> {
                        outcome = ToolCalls.Outcome.OK;
                        result = text;
                        error = null;
                    }
                    case Broker.ToolAnswer.Failed(String kind, Integer status, String message) -> {
                        outcome = ToolCalls.Outcome.ERROR;
                        error = kind + ": " + message;
                    }
                }
                return answered.answer();
            } catch (ToolUnavailableException e) {
                sent = e.sent();
                error = String.valueOf(e.getMessage());
                LOG.warn("{}", e.getMessage());
                throw e;
            } finally {
                long nanos = System.nanoTime() - start;
                metrics.timer("tool.calls", "tool", tool.name(), "outcome", outcome.json())
                        .record(nanos, TimeUnit.NANOSECONDS);
                trace.add(traced(request, result, error, sent.status(), nanos));
                end(id, outcome, sent, nanos / 1_000_000);
            }
        }

        /**
         * Names this call of this question of this measurement: an attempt that repeats a lost one asks with equal keys as
         * far as it does the same, so that a tool that knows them does nothing twice.
         */
        private String idempotencyKey(Tool tool, Broker.ToolRequest request, int number) {
            return Hashes.json(List.of(key, tool.name(), number, request.arguments()));
        }

        /** The interrupt of a cancelled call must not keep its end from being booked. */
        private void end(UUID id, ToolCalls.Outcome outcome, ToolClient.Sent sent, long ms) {
            boolean interrupted = Thread.interrupted();
            try {
                calls.end(id, outcome, sent.status(), sent.tries(), sent.bytes(), ms);
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        private Broker.ToolAnswer refuse(Broker.ToolRequest request, String kind, String message, long start) {
            if (++refused > MOST_REFUSED) {
                throw new Broker.CallBudgetException("more than " + MOST_REFUSED + " calls that no tool takes");
            }
            trace.add(traced(request, null, kind + ": " + message, null, System.nanoTime() - start));
            return new Broker.ToolAnswer.Failed(kind, null, message);
        }

        private ToolCall traced(
                Broker.ToolRequest request,
                @Nullable String result,
                @Nullable String error,
                @Nullable Integer status,
                long nanos) {
            return new ToolCall(
                    request.name(),
                    settings.shortened(Json.write(request.arguments())),
                    result == null ? null : settings.shortened(result),
                    error == null ? null : settings.shortened(error),
                    status,
                    nanos / 1_000_000);
        }
    }
}
