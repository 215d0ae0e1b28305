package org.harnesslearning.llm.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.harnesslearning.llm.FinishReason;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.GenerationResult;

/** A request on its way: waiting, then its prompt is processed, then its samples run, each ending on its own. */
final class Job implements Generation {

    private final GenerationRequest request;
    private final CompletableFuture<GenerationResult> result = new CompletableFuture<>();
    private final AtomicBoolean cancelled = new AtomicBoolean();
    private final List<Sample> samples = new ArrayList<>();
    private final long submitted;
    private long started;
    private long firstToken;
    private int cached;

    Job(GenerationRequest request, Set<Integer> endTokens, long now) {
        this.request = request;
        this.submitted = now;
        this.started = now;
        this.firstToken = now;
        for (int i = 0; i < request.samples(); i++) {
            samples.add(new Sample(this, i, endTokens));
        }
    }

    GenerationRequest request() {
        return request;
    }

    List<Sample> samples() {
        return samples;
    }

    @Override
    public CompletableFuture<GenerationResult> result() {
        return result;
    }

    @Override
    public void cancel() {
        cancelled.set(true);
    }

    boolean cancelled() {
        return cancelled.get();
    }

    void start(long now, int cachedTokens) {
        started = now;
        firstToken = now;
        cached = cachedTokens;
    }

    void prefilled(long now) {
        firstToken = now;
    }

    /** The head's settings for the token after prompt and the given completion. */
    Shaping shaping(int[] completion, int count) {
        Shaping plain = Shaping.ofTemperature(request.sampling().temperature());
        if (request.sampling().repetitionPenalty() == 1) {
            return plain;
        }
        Set<Integer> seen = new LinkedHashSet<>();
        for (int token : request.promptTokens()) {
            seen.add(token);
        }
        for (int i = 0; i < count; i++) {
            seen.add(completion[i]);
        }
        return new Shaping(
                plain.inverseTemperature(),
                (float) request.sampling().repetitionPenalty(),
                seen.stream().mapToInt(Integer::intValue).toArray());
    }

    /** Ends what has not ended. */
    void endAll(FinishReason reason) {
        samples.forEach(sample -> sample.end(reason));
    }

    /** Hands the result over once every sample has ended. */
    void completeIfDone(long now) {
        if (samples.stream().allMatch(Sample::finished)) {
            result.complete(new GenerationResult(
                    samples.stream().map(Sample::sequence).toList(),
                    request.promptTokens().length,
                    cached,
                    Duration.ofNanos(started - submitted),
                    Duration.ofNanos(firstToken - started),
                    Duration.ofNanos(now - firstToken)));
        }
    }

    void fail(RuntimeException cause) {
        endAll(FinishReason.ERROR);
        result.completeExceptionally(cause);
    }
}
