package org.harnesslearning.solver.inference;

import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.ToDoubleFunction;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.llm.EngineStatistics;

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

    private final MeterRegistry meters;

    InferenceMetrics(MeterRegistry meters, ModelRegistry registry) {
        this.meters = meters;
        gauge("solver.requests.running", registry, EngineStatistics::running);
        gauge("solver.requests.waiting", registry, EngineStatistics::waiting);
        for (ModelBackend backend : registry.all()) {
            Gauge.builder("solver.kv.cache.usage.perc", backend, b -> of(b, EngineStatistics::kvCacheUsage))
                    .tag("model", nameOf(backend))
                    .register(meters);
        }
        counter("solver.prefix.cache.queries", registry, EngineStatistics::promptTokens);
        counter("solver.prefix.cache.hits", registry, EngineStatistics::cachedPromptTokens);
    }

    /** A call has been answered. */
    void answered(ChatCall call, ChatResponse response, Duration took) {
        String model = call.model();
        meters.counter("solver.prompt.tokens", "model", model)
                .increment(response.usage().promptTokens());
        meters.counter("solver.generation.tokens", "model", model)
                .increment(response.usage().completionTokens());
        for (ChatResponse.Choice choice : response.choices()) {
            meters.counter("solver.request.success", "model", model, "finished_reason", choice.finishReason())
                    .increment();
        }
        timer("solver.e2e.request.latency", model, LATENCY).record(took);
        ChatResponse.Timings timings = response.timings();
        if (timings != null) {
            Duration queue = milliseconds(timings.queueTimeMs());
            Duration first = milliseconds(timings.timeToFirstTokenMs());
            Duration decode = milliseconds(timings.generationTimeMs());
            timer("solver.time.to.first.token", model, FIRST_TOKEN).record(first);
            timer("solver.time.per.output.token", model, PER_TOKEN).record(milliseconds(timings.meanItlMs()));
            timer("solver.request.queue.time", model, LATENCY).record(queue);
            timer("solver.request.prefill.time", model, LATENCY).record(first.minus(queue));
            timer("solver.request.decode.time", model, LATENCY).record(decode);
            timer("solver.request.inference.time", model, LATENCY)
                    .record(first.minus(queue).plus(decode));
        }
        summary("solver.request.prompt.tokens", model, TOKENS)
                .record(response.usage().promptTokens());
        summary("solver.request.generation.tokens", model, TOKENS)
                .record(response.usage().completionTokens());
        summary("solver.request.params.n", model, CHOICES).record(call.n());
        if (call.maxTokens() != null) {
            summary("solver.request.params.max.tokens", model, TOKENS).record(call.maxTokens());
        }
    }

    private void gauge(String name, ModelRegistry registry, ToDoubleFunction<EngineStatistics> value) {
        for (ModelBackend backend : registry.all()) {
            Gauge.builder(name, backend, b -> of(b, value))
                    .tag("model", nameOf(backend))
                    .register(meters);
        }
    }

    private void counter(String name, ModelRegistry registry, ToDoubleFunction<EngineStatistics> value) {
        for (ModelBackend backend : registry.all()) {
            FunctionCounter.builder(name, backend, b -> of(b, value))
                    .tag("model", nameOf(backend))
                    .register(meters);
        }
    }

    private static double of(ModelBackend backend, ToDoubleFunction<EngineStatistics> value) {
        EngineStatistics statistics = backend.statistics();
        return statistics == null ? 0 : value.applyAsDouble(statistics);
    }

    private static String nameOf(ModelBackend backend) {
        return backend.name();
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
