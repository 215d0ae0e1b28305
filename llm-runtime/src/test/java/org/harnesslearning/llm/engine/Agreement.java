package org.harnesslearning.llm.engine;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.harnesslearning.llm.sampling.Candidates;
import org.jspecify.annotations.Nullable;

/**
 * How far a rounding decoder follows an exact one on given texts.
 *
 * @param positions tokens of the texts, each with the prediction after it
 * @param agreeing those whose likeliest next token is the same
 * @param divergence mean Kullback-Leibler divergence from the exact distribution, nats
 */
record Agreement(int positions, int agreeing, double divergence) {

    double share() {
        return (double) agreeing / positions;
    }

    @Override
    public String toString() {
        return "top-1 agreement %d of %d = %.2f %%, mean KL %.2e nats"
                .formatted(agreeing, positions, 100 * share(), divergence);
    }

    /** Runs all texts in lockstep, token by token; both decoders have a row for each. */
    static Agreement measure(Decoder exact, Decoder rounding, int[][] texts) {
        return measure(exact, rounding, texts, null);
    }

    /**
     * As above.
     *
     * @param likeliest the likeliest token after each of the texts' tokens by another implementation; null: by the exact
     *     decoder
     */
    static Agreement measure(Decoder exact, Decoder rounding, int[][] texts, int @Nullable [][] likeliest) {
        int count = texts.length;
        int longest = Arrays.stream(texts).mapToInt(text -> text.length).max().orElse(0);
        int positions = 0;
        int agreeing = 0;
        double divergence = 0;
        for (int position = 0; position < longest; position++) {
            int[] pasts = new int[count];
            int[] tokens = new int[count];
            for (int row = 0; row < count; row++) {
                pasts[row] = position;
                tokens[row] = position < texts[row].length ? texts[row][position] : 0;
            }
            List<Candidates> expected = exact.step(pasts, tokens, Collections.nCopies(count, Shaping.PLAIN));
            List<Candidates> actual = rounding.step(pasts, tokens, Collections.nCopies(count, Shaping.PLAIN));
            for (int row = 0; row < count; row++) {
                if (position < texts[row].length) {
                    positions++;
                    int best = likeliest == null ? expected.get(row).topTokens()[0] : likeliest[row][position];
                    agreeing += actual.get(row).topTokens()[0] == best ? 1 : 0;
                    divergence += Logits.divergence(
                            expected.get(row).allLogits().get(),
                            actual.get(row).allLogits().get());
                }
            }
        }
        return new Agreement(positions, agreeing, divergence / positions);
    }

    /** Each prompt with {@code count} tokens after it, always the exact decoder's likeliest. */
    static int[][] continued(Decoder exact, int[][] prompts, int count) {
        int[][] texts = new int[prompts.length][];
        for (int row = 0; row < prompts.length; row++) {
            int length = prompts[row].length;
            texts[row] = Arrays.copyOf(prompts[row], length + count);
            int[] fresh = prompts[row];
            for (int i = 0; i < count; i++) {
                texts[row][length + i] = exact.extend(row, length + i - (i == 0 ? length : 1), fresh, Shaping.PLAIN)
                        .topTokens()[0];
                fresh = new int[] {texts[row][length + i]};
            }
        }
        return texts;
    }
}
