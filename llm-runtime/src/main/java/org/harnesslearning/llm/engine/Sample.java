package org.harnesslearning.llm.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.harnesslearning.llm.FinishReason;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.Sequence;
import org.harnesslearning.llm.TokenListener;
import org.harnesslearning.llm.TokenLogprob;
import org.harnesslearning.llm.sampling.Candidates;
import org.harnesslearning.llm.sampling.Sampler;
import org.jspecify.annotations.Nullable;

/** One completion in the making. */
final class Sample {

    private final Job job;
    private final int index;
    private final Sampler sampler;
    private final Set<Integer> endTokens;
    private int[] tokens = new int[16];
    private float[] logprobs = new float[16];
    private int count;
    private final List<List<TokenLogprob>> topLogprobs = new ArrayList<>();
    private int endToken = -1;
    private @Nullable FinishReason reason;
    private @Nullable Row row;

    Sample(Job job, int index, Set<Integer> endTokens) {
        this.job = job;
        this.index = index;
        List<Long> seeds = job.request().sampleSeeds();
        this.sampler = seeds.isEmpty()
                ? new Sampler(job.request().sampling(), job.request().seed(), index)
                : new Sampler(job.request().sampling(), seeds.get(index), 0);
        this.endTokens = endTokens;
    }

    Job job() {
        return job;
    }

    /** Where its keys and values lie; only while it runs. */
    Row row() {
        if (row == null) {
            throw new IllegalStateException("the sample is not running");
        }
        return row;
    }

    void start(Row where) {
        row = where;
    }

    boolean running() {
        return row != null;
    }

    void leave() {
        row = null;
    }

    boolean finished() {
        return reason != null;
    }

    int lastToken() {
        return tokens[count - 1];
    }

    int count() {
        return count;
    }

    /** What its next step needs: temperature, and the penalty over prompt and completion. */
    Shaping shaping() {
        return job.shaping(tokens, count);
    }

    /** Chooses the next token, and ends the sample where that says so. */
    void accept(Candidates candidates) {
        GenerationRequest request = job.request();
        TokenLogprob next = sampler.next(candidates, count);
        if (request.stopTokens().contains(next.tokenId())
                || !request.ignoreEndTokens() && endTokens.contains(next.tokenId())) {
            endToken = next.tokenId();
            reason = FinishReason.STOP;
            return;
        }
        if (count == tokens.length) {
            tokens = Arrays.copyOf(tokens, 2 * count);
            logprobs = Arrays.copyOf(logprobs, 2 * count);
        }
        tokens[count] = next.tokenId();
        logprobs[count] = next.logprob();
        count++;
        List<TokenLogprob> alternatives = alternatives(candidates, request.topLogprobs());
        if (request.topLogprobs() > 0) {
            topLogprobs.add(alternatives);
        }
        TokenListener listener = request.listener();
        if (listener != null && !listener.onToken(index, next.tokenId(), next.logprob(), alternatives)) {
            reason = FinishReason.STOP;
        } else if (count == request.maxTokens()) {
            reason = FinishReason.LENGTH;
        }
    }

    private static List<TokenLogprob> alternatives(Candidates candidates, int count) {
        List<TokenLogprob> alternatives = new ArrayList<>();
        for (int i = 0; i < Math.min(count, candidates.topTokens().length); i++) {
            alternatives.add(new TokenLogprob(
                    candidates.topTokens()[i], candidates.logprob(candidates.topLogits()[i])));
        }
        return List.copyOf(alternatives);
    }

    void end(FinishReason why) {
        if (reason == null) {
            reason = why;
        }
    }

    Sequence sequence() {
        FinishReason why = reason == null ? FinishReason.ERROR : reason;
        return new Sequence(Arrays.copyOf(tokens, count), Arrays.copyOf(logprobs, count), topLogprobs, why, endToken);
    }
}
