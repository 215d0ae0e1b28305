package org.harnesslearning.llm.sampling;

import java.util.Arrays;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.TokenLogprob;
import org.jspecify.annotations.Nullable;

/**
 * Draws the tokens of one sample.
 *
 * <p>The draw for token {@code t} is a function of (seed, sample index, t) alone, so it does not depend on what else is
 * in the batch. Plain sampling (no min-p, top-k, top-p) draws from the exact full softmax: when the likeliest candidates do
 * not reach the draw, all logits are read.
 */
public final class Sampler {

    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private final Sampling sampling;
    private final long stream;

    /**
     * @param sampling how to choose
     * @param seed the request's seed
     * @param sample the sample's index within the request
     */
    public Sampler(Sampling sampling, long seed, int sample) {
        this.sampling = sampling;
        this.stream = mix(mix(seed + GOLDEN) + (sample + 1L) * GOLDEN);
    }

    /** Chooses token number {@code index} of the completion. */
    public TokenLogprob next(Candidates candidates, int index) {
        if (sampling.temperature() == 0 || sampling.topK() == 1) {
            return chosen(candidates, 0);
        }
        double draw = uniform(index);
        int topK = sampling.topK();
        if (topK == 0 && sampling.topP() == 1 && sampling.minP() == 0) {
            return plain(candidates, draw);
        }
        TokenLogprob quick = nucleus(candidates, false, draw);
        return quick == null ? nucleusOfAll(candidates, draw) : quick;
    }

    private TokenLogprob plain(Candidates candidates, double draw) {
        double reached = 0;
        for (int i = 0; i < candidates.topLogits().length; i++) {
            reached += probability(candidates, candidates.topLogits()[i]);
            if (draw < reached) {
                return chosen(candidates, i);
            }
        }
        float[] logits = candidates.allLogits().get();
        boolean[] seen = new boolean[logits.length];
        for (int token : candidates.topTokens()) {
            seen[token] = true;
        }
        for (int token = 0; token < logits.length; token++) {
            if (!seen[token]) {
                reached += probability(candidates, logits[token]);
                if (draw < reached) {
                    return new TokenLogprob(token, candidates.logprob(logits[token]));
                }
            }
        }
        return chosen(candidates, 0); // rounding: the sum stayed below the draw
    }

    /**
     * Min-p and top-k, then top-p of what is left (the smallest set whose renormalised mass reaches {@code topP}).
     *
     * @param all whether the candidates are the whole vocabulary
     * @return null if the candidates do not reach far enough to tell
     */
    private @Nullable TokenLogprob nucleus(Candidates candidates, boolean all, double draw) {
        float[] logits = candidates.topLogits();
        int topK = sampling.topK();
        int limit = topK == 0 ? logits.length : Math.min(topK, logits.length);
        boolean complete = all || topK != 0 && topK <= logits.length;
        if (sampling.minP() > 0) {
            double least = logits[0] + Math.log(sampling.minP());
            int above = 0;
            while (above < limit && logits[above] >= least) {
                above++;
            }
            complete |= above < limit;
            limit = above;
        }
        boolean narrowed = topK != 0 || sampling.minP() > 0;
        if (narrowed && !complete) {
            return null;
        }
        double mass = 1;
        if (narrowed) {
            mass = 0;
            for (int i = 0; i < limit; i++) {
                mass += probability(candidates, logits[i]);
            }
        }
        double wanted = sampling.topP() * mass;
        double kept = 0;
        int count = 0;
        while (count < limit && (kept < wanted || count == 0)) {
            kept += probability(candidates, logits[count]);
            count++;
        }
        if (kept < wanted && !narrowed && !all) {
            return null;
        }
        double target = draw * kept;
        double reached = 0;
        for (int i = 0; i < count; i++) {
            reached += probability(candidates, candidates.topLogits()[i]);
            if (target < reached) {
                return chosen(candidates, i);
            }
        }
        return chosen(candidates, count - 1);
    }

    /** Sorts the whole vocabulary; only for wide nuclei. */
    private TokenLogprob nucleusOfAll(Candidates candidates, double draw) {
        float[] logits = candidates.allLogits().get();
        long[] keys = new long[logits.length];
        for (int token = 0; token < logits.length; token++) {
            int bits = Float.floatToIntBits(logits[token]);
            int ordered = bits ^ (bits >> 31 & Integer.MAX_VALUE); // ascending as integers
            keys[token] = (long) ~ordered << 32 | token; // descending logits, then ascending tokens
        }
        Arrays.sort(keys);
        float[] sorted = new float[keys.length];
        int[] tokens = new int[keys.length];
        for (int i = 0; i < keys.length; i++) {
            tokens[i] = (int) keys[i];
            sorted[i] = logits[tokens[i]];
        }
        Candidates all = new Candidates(sorted, tokens, candidates.logSum(), () -> logits);
        TokenLogprob token = nucleus(all, true, draw);
        return token == null ? chosen(all, 0) : token;
    }

    private static TokenLogprob chosen(Candidates candidates, int index) {
        return new TokenLogprob(
                candidates.topTokens()[index], candidates.logprob(candidates.topLogits()[index]));
    }

    private static double probability(Candidates candidates, float logit) {
        return Math.exp(logit - (double) candidates.logSum());
    }

    private double uniform(int index) {
        return (mix(stream + (index + 1L) * GOLDEN) >>> 11) * 0x1.0p-53;
    }

    /** The finaliser of SplitMix64 (Steele, Lea and Flood 2014). */
    private static long mix(long value) {
        long z = value;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }
}
