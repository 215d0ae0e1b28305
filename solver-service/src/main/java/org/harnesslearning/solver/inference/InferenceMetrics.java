package org.harnesslearning.solver.inference;

import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.llm.EngineStatistics;
import org.jspecify.annotations.Nullable;

/** Meters of the endpoint; names and bucket edges follow those of vLLM, under {@code solver.}. */
class InferenceMetrics {
    private static final double[] FIRST_TOKEN = {
        0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560
    };
    private static final double[] PER_TOKEN = {
        0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80
    };
    private static final double[] LATENCY = {
        0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680
    };
    private static final double[] TOKENS = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000};
    private static final double[] CHOICES = {1, 2, 5, 10, 20};
    private static final double[] TURN = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

    private final MeterRegistry meters;
    private final Map<String, AtomicInteger> inFlight = new ConcurrentHashMap<>();

    /** Models with the same engine have its meters once, under the name that comes first. */
    InferenceMetrics(MeterRegistry meters, ModelRegistry registry, ModelSettings.EngineSettings settings) {
        this.meters = meters;
        Set<Object> engines = Collections.newSetFromMap(new IdentityHashMap<>());
        for (ModelBackend backend : registry.all()) {
            Object engine = backend.engine();
            if (engine == null) {
                AtomicInteger running = inFlight.computeIfAbsent(backend.name(), name -> new AtomicInteger());
                Gauge.builder("solver.requests.running", running, AtomicInteger::get)
                        .tag("model", backend.name())
                        .register(meters);
            } else if (engines.add(engine)) {
                engineMeters(backend, settings);
            }
        }
        MultiGauge resident = MultiGauge.builder("solver.lora.requests.info").register(meters);
        MultiGauge requests = MultiGauge.builder("solver.lora.adapter.requests").register(meters);
        registry.onAdapters(loaded -> {
            resident.register(rows(loaded, adapted -> 1), true);
            requests.register(rows(loaded, ModelBackend::adapterRequests), true);
        });
    }

    private static List<MultiGauge.Row<?>> rows(List<ModelBackend> loaded, ToDoubleFunction<ModelBackend> value) {
        List<MultiGauge.Row<?>> rows = new ArrayList<>();
        for (ModelBackend adapted : loaded) {
            Tags tags = Tags.of("model", String.valueOf(adapted.info().parent()), "adapter", adapted.name());
            rows.add(MultiGauge.Row.of(tags, adapted, value));
        }
        return rows;
    }

    private void engineMeters(ModelBackend backend, ModelSettings.EngineSettings settings) {
        gauge("solver.requests.running", backend, EngineStatistics::running);
        gauge("solver.requests.waiting", backend, EngineStatistics::waiting);
        gauge("solver.slots", backend, EngineStatistics::slots);
        gauge("solver.kv.cache.usage.perc", backend, EngineStatistics::kvCacheUsage);
        Gauge.builder("solver.cache.config.info", () -> 1)
                .tag("model", backend.name())
                .tag("slots", Integer.toString(settings.slots()))
                .tag("max_sequence", Integer.toString(settings.maxSequence()))
                .tag("enable_prefix_caching", Boolean.toString(settings.reusePrefixes()))
                .register(meters);
        counter("solver.prefix.cache.queries", backend, EngineStatistics::promptTokens);
        counter("solver.prefix.cache.hits", backend, EngineStatistics::cachedPromptTokens);
        counter("solver.failed.steps", backend, EngineStatistics::failedSteps);
        DistributionSummary turns = summary("solver.iteration.tokens", backend.name(), TURN);
        backend.observeTurns(turns::record);
    }

    /** What an answer says about itself. */
    record Facts(ChatResponse.Usage usage, ChatResponse.@Nullable Timings timings, List<String> reasons) {
        static Facts of(ChatResponse answer) {
            return new Facts(
                    answer.usage(),
                    answer.timings(),
                    answer.choices().stream()
                            .map(ChatResponse.Choice::finishReason)
                            .toList());
        }

        static Facts of(TextCompletion answer) {
            return new Facts(
                    answer.usage(),
                    answer.timings(),
                    answer.choices().stream()
                            .map(TextCompletion.Choice::finishReason)
                            .toList());
        }
    }

    /** Runs a call and counts it. */
    <R> R measured(ModelBackend backend, Decoding decoding, Supplier<R> call, Function<R, Facts> facts) {
        AtomicInteger running = inFlight.get(backend.name());
        long start = System.nanoTime();
        if (running != null) {
            running.incrementAndGet();
        }
        try {
            R answer = call.get();
            answered(backend.name(), decoding, facts.apply(answer), Duration.ofNanos(System.nanoTime() - start));
            return answer;
        } catch (PlatformException e) {
            if (e.code().type() != ErrorType.USER) {
                finished(backend.name(), "error");
            }
            throw e;
        } finally {
            if (running != null) {
                running.decrementAndGet();
            }
        }
    }

    private void answered(String model, Decoding decoding, Facts facts, Duration took) {
        ChatResponse.Usage usage = facts.usage();
        meters.counter("solver.prompt.tokens", "model", model).increment(usage.promptTokens());
        meters.counter("solver.generation.tokens", "model", model).increment(usage.completionTokens());
        facts.reasons().forEach(reason -> finished(model, reason));
        timer("solver.e2e.request.latency", model, LATENCY).record(took);
        ChatResponse.Timings timings = facts.timings();
        if (timings != null) {
            Duration queue = milliseconds(timings.queueTimeMs());
            Duration first = milliseconds(timings.timeToFirstTokenMs());
            Duration decode = milliseconds(timings.generationTimeMs());
            timer("solver.time.to.first.token", model, FIRST_TOKEN).record(first);
            if (timings.meanItlMs() > 0) {
                timer("solver.time.per.output.token", model, PER_TOKEN).record(milliseconds(timings.meanItlMs()));
            }
            timer("solver.request.queue.time", model, LATENCY).record(queue);
            timer("solver.request.prefill.time", model, LATENCY).record(first.minus(queue));
            timer("solver.request.decode.time", model, LATENCY).record(decode);
            timer("solver.request.inference.time", model, LATENCY)
                    .record(first.minus(queue).plus(decode));
        }
        summary("solver.request.prompt.tokens", model, TOKENS).record(usage.promptTokens());
        summary("solver.request.generation.tokens", model, TOKENS).record(usage.completionTokens());
        summary("solver.request.params.n", model, CHOICES).record(decoding.n());
        if (decoding.maxTokens() != null) {
            summary("solver.request.params.max.tokens", model, TOKENS).record(decoding.maxTokens());
        }
    }

    private void finished(String model, String reason) {
        meters.counter("solver.request.success", "model", model, "finished_reason", reason)
                .increment();
    }

    private void gauge(String name, ModelBackend backend, ToDoubleFunction<EngineStatistics> value) {
        Gauge.builder(name, backend, b -> of(b, value))
                .tag("model", backend.name())
                .register(meters);
    }

    private void counter(String name, ModelBackend backend, ToDoubleFunction<EngineStatistics> value) {
        FunctionCounter.builder(name, backend, b -> of(b, value))
                .tag("model", backend.name())
                .register(meters);
    }

    private static double of(ModelBackend backend, ToDoubleFunction<EngineStatistics> value) {
        EngineStatistics statistics = backend.statistics();
        return statistics == null ? 0 : value.applyAsDouble(statistics);
    }

    private Timer timer(String name, String model, double[] seconds) {
        return Timer.builder(name)
                .tag("model", model)
                .serviceLevelObjectives(Arrays.stream(seconds)
                        .mapToObj(edge -> Duration.ofNanos((long) (edge * 1e9)))
                        .toArray(Duration[]::new))
                .register(meters);
    }

    private DistributionSummary summary(String name, String model, double[] edges) {
        return DistributionSummary.builder(name)
                .tag("model", model)
                .serviceLevelObjectives(edges)
                .register(meters);
    }

    private static Duration milliseconds(double value) {
        return Duration.ofNanos((long) (value * 1e6));
    }
}
