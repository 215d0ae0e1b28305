package org.harnesslearning.llm.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.harnesslearning.llm.FinishReason;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.GenerationResult;
import org.harnesslearning.llm.Sampling;
import org.jspecify.annotations.Nullable;

/** A request on its way: waiting, then its prompt is processed, then its samples run, each ending on its own. */
final class Job implements Generation {

    private final GenerationRequest request;
    private final CompletableFuture<GenerationResult> result = new CompletableFuture<>();
    private final AtomicBoolean cancelled = new AtomicBoolean();
    private final List<Sample> samples = new ArrayList<>();
    private final Adapters.@Nullable Resident adapter;
    private final String weightsVersion;
    private final Runnable ended;
    private final long submitted;
    private boolean over;
    private long started;
    private long firstToken;
    private int cached;

    /**
     * @param baseHash hash of the model's weights
     * @param adapter the adapter that it uses, if any
     * @param ended run once, when no step will be made for it any more
     */
    Job(
            GenerationRequest request,
            Set<Integer> endTokens,
            String baseHash,
            Adapters.@Nullable Resident adapter,
            Runnable ended,
            long now) {
        this.request = request;
        this.adapter = adapter;
        this.weightsVersion = adapter == null ? baseHash : baseHash + "+" + adapter.hash();
        this.ended = ended;
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

    /** Hash of its adapter, empty for none. */
    String adapterHash() {
        return adapter == null ? "" : adapter.hash();
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
        Sampling sampling = request.sampling();
        Shaping plain = Shaping.ofTemperature(sampling.temperature())
                .withAdapter(adapter == null ? Shaping.NO_ADAPTER : adapter.slot());
        if (!sampling.penalises()) {
            return plain;
        }
        Map<Integer, Integer> counts = new LinkedHashMap<>();
        if (sampling.repetitionPenalty() != 1) {
            for (int token : request.promptTokens()) {
                counts.put(token, 0);
            }
        }
        for (int i = 0; i < count; i++) {
            counts.merge(completion[i], 1, Integer::sum);
        }
        int[] tokens = new int[counts.size()];
        float[] offsets = new float[counts.size()];
        int at = 0;
        for (Map.Entry<Integer, Integer> seen : counts.entrySet()) {
            tokens[at] = seen.getKey();
            offsets[at++] = (float) (sampling.frequencyPenalty() * seen.getValue()
                    + (seen.getValue() > 0 ? sampling.presencePenalty() : 0));
        }
        return new Shaping(
                plain.inverseTemperature(), (float) sampling.repetitionPenalty(), tokens, offsets, plain.adapter());
    }

    /** Ends what has not ended. */
    void endAll(FinishReason reason) {
        samples.forEach(sample -> sample.end(reason));
    }

    /** Hands the result over once every sample has ended. */
    void completeIfDone(long now) {
        if (samples.stream().allMatch(Sample::finished)) {
            over();
            result.complete(new GenerationResult(
                    samples.stream().map(Sample::sequence).toList(),
                    weightsVersion,
                    request.promptTokens().length,
                    cached,
                    Duration.ofNanos(started - submitted),
                    Duration.ofNanos(firstToken - started),
                    Duration.ofNanos(now - firstToken)));
        }
    }

    private void over() {
        if (!over) {
            over = true;
            ended.run();
        }
    }

    void fail(RuntimeException cause) {
        endAll(FinishReason.ERROR);
        over();
        result.completeExceptionally(cause);
    }
}
