package org.harnesslearning.llm.sampling;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Comparator;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.harnesslearning.llm.Sampling;
import org.junit.jupiter.api.Test;

class SamplerTest {

    private static final int VOCABULARY = 30;

    private static float[] logits() {
        Random random = new Random(4);
        float[] logits = new float[VOCABULARY];
        for (int i = 0; i < VOCABULARY; i++) {
            logits[i] = (float) random.nextGaussian() * 1.5f;
        }
        return logits;
    }

    private static int[] order(float[] logits) {
        return IntStream.range(0, logits.length)
                .boxed()
                .sorted(Comparator.comparing((Integer i) -> -logits[i]))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    private static Candidates candidates(float[] logits, int top, Supplier<float[]> all) {
        int[] order = order(logits);
        float[] topLogits = new float[top];
        int[] tokens = new int[top];
        for (int i = 0; i < top; i++) {
            tokens[i] = order[i];
            topLogits[i] = logits[order[i]];
        }
        double sum = 0;
        for (float logit : logits) {
            sum += Math.exp(logit);
        }
        return new Candidates(topLogits, tokens, (float) Math.log(sum), all);
    }

    private static double[] frequencies(Sampling sampling, int top) {
        float[] logits = logits();
        Candidates candidates = candidates(logits, top, () -> logits);
        double[] counts = new double[VOCABULARY];
        int draws = 40_000;
        Sampler sampler = new Sampler(sampling, 99, 0);
        for (int i = 0; i < draws; i++) {
            counts[sampler.next(candidates, i).tokenId()] += 1.0 / draws;
        }
        return counts;
    }

    @Test
    void plainSamplingFollowsTheWholeSoftmaxAlsoBeyondTheTopCandidates() {
        double[] frequencies = frequencies(Sampling.ofTemperature(1), 4);
        Candidates candidates = candidates(logits(), VOCABULARY, SamplerTest::logits);
        for (int i = 0; i < VOCABULARY; i++) {
            double probability = Math.exp(candidates.logprob(candidates.topLogits()[i]));
            assertThat(frequencies[candidates.topTokens()[i]]).isCloseTo(probability, Offset.offset(0.012));
        }
    }

    @Test
    void topKKeepsTheLikeliestTokens() {
        for (int top : new int[] {3, 8, VOCABULARY}) {
            double[] frequencies = frequencies(new Sampling(1, 1, 5, 1), top);
            assertThat(kept(frequencies)).isEqualTo(firstTokens(5));
        }
    }

    @Test
    void topPKeepsTheSmallestSetThatReachesTheMass() {
        Candidates all = candidates(logits(), VOCABULARY, SamplerTest::logits);
        for (double topP : new double[] {0.05, 0.5, 0.8, 0.97}) {
            int count = 0;
            double mass = 0;
            while (mass < topP) {
                mass += Math.exp(all.logprob(all.topLogits()[count++]));
            }
            for (int top : new int[] {2, 10, VOCABULARY}) {
                assertThat(kept(frequencies(new Sampling(1, topP, 0, 1), top))).isEqualTo(firstTokens(count));
            }
        }
    }

    @Test
    void minPDropsWhatIsUnlikelyBesideTheLikeliest() {
        Candidates all = candidates(logits(), VOCABULARY, SamplerTest::logits);
        for (double minP : new double[] {0.001, 0.05, 0.3, 1}) {
            int count = 0;
            double mass = 0;
            while (count < VOCABULARY && all.topLogits()[count] >= all.topLogits()[0] + Math.log(minP)) {
                mass += Math.exp(all.logprob(all.topLogits()[count++]));
            }
            for (int top : new int[] {2, 10, VOCABULARY}) {
                double[] frequencies = frequencies(new Sampling(1, 1, 0, 1, minP, 0, 0), top);
                assertThat(kept(frequencies)).isEqualTo(firstTokens(count));
                assertThat(frequencies[order(logits())[0]])
                        .isCloseTo(Math.exp(all.logprob(all.topLogits()[0])) / mass, Offset.offset(0.012));
            }
        }
    }

    @Test
    void topPWorksOnWhatMinPAndTopKLeave() {
        Candidates all = candidates(logits(), VOCABULARY, SamplerTest::logits);
        double mass = 0;
        for (int i = 0; i < 6; i++) {
            mass += Math.exp(all.logprob(all.topLogits()[i]));
        }
        double kept = 0;
        int count = 0;
        while (kept < 0.7 * mass) {
            kept += Math.exp(all.logprob(all.topLogits()[count++]));
        }
        double sixth = Math.exp(all.topLogits()[5] - all.topLogits()[0]) * 0.999;
        for (int top : new int[] {2, 6, 10, VOCABULARY}) {
            assertThat(kept(frequencies(new Sampling(1, 0.7, 0, 1, sixth, 0, 0), top)))
                    .isEqualTo(firstTokens(count));
            assertThat(kept(frequencies(new Sampling(1, 0.7, 6, 1, 0.0001, 0, 0), top)))
                    .isEqualTo(firstTokens(count));
        }
    }

    @Test
    void temperatureZeroTakesTheLikeliest() {
        Candidates candidates = candidates(logits(), 4, SamplerTest::logits);
        assertThat(new Sampler(Sampling.greedy(), 1, 0).next(candidates, 0).tokenId())
                .isEqualTo(order(logits())[0]);
        assertThat(new Sampler(Sampling.greedy(), 1, 0).next(candidates, 0).logprob())
                .isEqualTo(candidates.logprob(candidates.topLogits()[0]));
    }

    @Test
    void drawsDependOnSeedSampleAndPositionAlone() {
        Candidates candidates = candidates(logits(), VOCABULARY, SamplerTest::logits);
        Set<String> runs = new TreeSet<>();
        for (long seed = 0; seed < 20; seed++) {
            for (int sample = 0; sample < 5; sample++) {
                String run = run(new Sampler(Sampling.ofTemperature(1), seed, sample), candidates);
                assertThat(run(new Sampler(Sampling.ofTemperature(1), seed, sample), candidates))
                        .isEqualTo(run);
                runs.add(run);
            }
        }
        assertThat(runs).hasSize(100);
    }

    private static String run(Sampler sampler, Candidates candidates) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            text.append(sampler.next(candidates, i).tokenId()).append(' ');
        }
        return text.toString();
    }

    private static Set<Integer> kept(double[] frequencies) {
        Set<Integer> kept = new TreeSet<>();
        for (int i = 0; i < frequencies.length; i++) {
            if (frequencies[i] > 0) {
                kept.add(i);
            }
        }
        return kept;
    }

    private static Set<Integer> firstTokens(int count) {
        Set<Integer> tokens = new TreeSet<>();
        for (int i = 0; i < count; i++) {
            tokens.add(order(logits())[i]);
        }
        return tokens;
    }
}
