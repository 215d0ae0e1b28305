package org.harnesslearning.trainer.run;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.training.TrainingRunStore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.stereotype.Component;
import org.springframework.transaction.TransactionException;

/**
 * Metrics of training for Prometheus. The values of a step are gauges without a label of the run: those of the run that
 * this process does, NaN while it does none.
 */
@Component
final class TrainingMetrics {
    private static final Logger LOG = LoggerFactory.getLogger(TrainingMetrics.class);
    private static final List<String> VALUES = List.of(
            StepReport.LOSS,
            StepReport.HELD_OUT_LOSS,
            StepReport.REWARD,
            StepReport.REWARD_WITH_BONUS,
            StepReport.VALID_RATE,
            StepReport.ZERO_SPREAD_SHARE,
            StepReport.KL,
            StepReport.CLIP_SHARE,
            StepReport.ENTROPY,
            StepReport.GRAD_NORM,
            StepReport.LEARNING_RATE,
            StepReport.TOKENS_PER_SECOND);
    private static final long FRESH_NANOS = Duration.ofSeconds(2).toNanos();

    private final MeterRegistry meters;
    private final TrainingServices services;
    private final Counter steps;
    private final Counter tokens;
    private final Map<String, Double> values = new ConcurrentHashMap<>();
    private final Map<String, StepWatch> watches = new ConcurrentHashMap<>();

    private record Queue(Map<RunState, Long> open, @Nullable Instant oldest, long at) {}

    private @Nullable Queue queue; // guarded by this

    TrainingMetrics(MeterRegistry meters, TrainingServices services) {
        this.meters = meters;
        this.services = services;
        this.steps =
                Counter.builder("trainer.steps").description("Committed steps").register(meters);
        this.tokens =
                Counter.builder("trainer.tokens").description("Trained tokens").register(meters);
        for (String value : VALUES) {
            Gauge.builder("trainer." + value.replace('_', '.'), () -> values.getOrDefault(value, Double.NaN))
                    .register(meters);
        }
        Gauge.builder("trainer.step", () -> values.getOrDefault("step", Double.NaN))
                .description("Last committed step of the run that this process does")
                .register(meters);
        Gauge.builder("trainer.step.stalled", this::stalled)
                .description("Runs whose current step is over trainer.stall-after")
                .register(meters);
        for (RunState state : List.of(RunState.QUEUED, RunState.RUNNING, RunState.PAUSED)) {
            Gauge.builder("trainer.runs", () -> queue().open().getOrDefault(state, 0L))
                    .tag("state", state.json())
                    .register(meters);
        }
        Gauge.builder("trainer.queue.age", this::age)
                .description("Seconds that the first waiting run has waited")
                .register(meters);
        for (String state : List.of("succeeded", "failed", "cancelled", "paused")) {
            counter(state);
        }
    }

    /** A run begins here. */
    void begin(String run, StepWatch watch) {
        watches.put(run, watch);
    }

    /** A step was committed. */
    void step(String run, StepReport report) {
        steps.increment();
        tokens.increment(report.counts().getOrDefault(StepReport.TOKENS, 0L));
        for (String value : VALUES) {
            Double now = report.metrics().get(value);
            if (now != null) {
                values.put(value, now);
            }
        }
        values.put("step", (double) report.step());
    }

    /** This process leaves a run. */
    void end(String run) {
        if (watches.remove(run) != null && watches.isEmpty()) {
            values.clear();
        }
    }

    /** A run ended or paused. */
    void ended(String state) {
        counter(state).increment();
    }

    private Counter counter(String state) {
        return Counter.builder("trainer.runs.ended").tag("state", state).register(meters);
    }

    private double stalled() {
        return watches.values().stream().filter(StepWatch::stalled).count();
    }

    private double age() {
        Instant oldest = queue().oldest();
        return oldest == null
                ? 0
                : Math.max(
                        0, Duration.between(oldest, services.clock().instant()).toMillis() / 1000.0);
    }

    /** The queue, read anew for each scrape, not for each of its gauges. */
    private synchronized Queue queue() {
        Queue known = queue;
        if (known == null || System.nanoTime() - known.at() > FRESH_NANOS) {
            TrainingRunStore runs = services.runs();
            try {
                known = new Queue(runs.open(), runs.oldestWaiting().orElse(null), System.nanoTime());
            } catch (DataAccessException | TransactionException e) {
                LOG.warn("the queue of training runs can't be read: {}", e.getMessage());
                known = new Queue(new EnumMap<>(RunState.class), null, System.nanoTime());
            }
            queue = known;
        }
        return known;
    }
}
