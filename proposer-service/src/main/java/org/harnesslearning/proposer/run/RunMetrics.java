package org.harnesslearning.proposer.run;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.trace.WorkContext;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.RunJobs;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.stereotype.Component;

/**
 * What a dashboard shows of runs. Gauges are read from the database and so are the same at every replica; counters count
 * what this replica did. Names are in docs/observability.md.
 */
@Component
public class RunMetrics {
    private static final Logger LOG = LoggerFactory.getLogger(RunMetrics.class);

    /** One scrape reads several gauges of one picture. */
    private static final Duration FRESH = Duration.ofSeconds(2);

    private final MeterRegistry meters;
    private final RunServices services;
    private final RunJobs jobs;
    private Map<RunKind, RunJobs.Waiting> picture = new EnumMap<>(RunKind.class);
    private Instant taken = Instant.EPOCH;

    RunMetrics(MeterRegistry meters, RunServices services, RunJobs jobs) {
        this.meters = meters;
        this.services = services;
        this.jobs = jobs;
        for (RunKind kind : RunKind.values()) {
            gauge("proposer.runs.queued", "Runs that are due and wait for a worker", kind, RunJobs.Waiting::queued)
                    .register(meters);
            gauge("proposer.runs.running", "Runs that a worker has", kind, RunJobs.Waiting::running)
                    .register(meters);
            gauge(
                            "proposer.queue.age",
                            "How long the first run of the queue has been due",
                            kind,
                            waiting -> waiting.age().toMillis() / 1000.0)
                    .baseUnit("seconds")
                    .register(meters);
            meters.counter("proposer.outages", "kind", kind.json());
            for (RunState state : RunState.values()) {
                if (state.terminal() || state == RunState.PAUSED) {
                    meters.counter("proposer.runs.ended", "kind", kind.json(), "state", state.json());
                }
            }
        }
    }

    private Gauge.Builder<RunMetrics> gauge(
            String name, String description, RunKind kind, ToDoubleFunction<RunJobs.Waiting> value) {
        return Gauge.builder(name, this, metrics -> metrics.value(kind, value))
                .description(description)
                .tag("kind", kind.json());
    }

    private synchronized double value(RunKind kind, ToDoubleFunction<RunJobs.Waiting> value) {
        Instant now = services.clock().instant();
        if (taken.plus(FRESH).isBefore(now)) {
            try {
                picture = jobs.waiting(now);
                taken = now;
            } catch (DataAccessException e) {
                LOG.debug("the queue can't be read", e);
                return Double.NaN;
            }
        }
        RunJobs.Waiting waiting = picture.get(kind);
        return waiting == null ? 0 : value.applyAsDouble(waiting);
    }

    /** Counts a run that paused because a model, the executor or the store kept failing. */
    void outage(RunRow run) {
        meters.counter("proposer.outages", "kind", run.kind().json()).increment();
    }

    /** Counts a run that ended or paused, and what it cost by the configured prices. */
    void ended(RunRow run, RunState state) {
        meters.counter("proposer.runs.ended", "kind", run.kind().json(), "state", state.json())
                .increment();
        // Not always in a worker's thread: a run that no worker has is cancelled in the caller's.
        try (WorkContext.Fields _ = WorkContext.named(run.id(), null)) {
            LOG.info("{} {}", run.id(), state.json());
        }
        if (state.terminal()) {
            RunSettings settings = Json.mapper().treeToValue(run.settings(), RunSettings.class);
            cost(
                    "solver",
                    settings.solver().model(),
                    services.budgets().usage(run.id()).solver());
            if (settings.proposer() != null) {
                cost("proposer", settings.proposer().model(), services.calls().usage(run.id()));
            }
        }
    }

    private void cost(String role, String model, Usage usage) {
        ProposerProperties.Price price = services.properties().price(model);
        if (price != null) {
            meters.counter("model.cost", "role", role, "model", model)
                    .increment((price.prompt() * usage.promptTokens() + price.completion() * usage.completionTokens())
                            / 1_000_000);
        }
    }

    /** Counts a candidate's outcome. */
    public void candidate(CandidateOutcome outcome, @Nullable OutcomeCode code) {
        meters.counter(
                        "proposer.candidates",
                        "outcome",
                        outcome.json(),
                        "code",
                        code == null ? outcome.json().toUpperCase(Locale.ROOT) : code.name())
                .increment();
    }

    /** Counts a committed call of the proposer. */
    public void proposed(String model, Usage usage) {
        meters.counter("model.calls", "role", "proposer", "model", model).increment(usage.calls());
        tokens(model, "prompt", usage.promptTokens());
        tokens(model, "completion", usage.completionTokens());
    }

    private void tokens(String model, String type, long tokens) {
        meters.counter("model.tokens", "role", "proposer", "model", model, "type", type)
                .increment(tokens);
    }
}
