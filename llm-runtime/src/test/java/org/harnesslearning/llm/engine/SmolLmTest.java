package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.Goldens;
import org.harnesslearning.llm.sampling.Candidates;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** A real model, SmolLM2-135M in Q4_1, against Hugging Face Transformers on the same weights. */
@RequiresModel("smollm2-135m")
class SmolLmTest {

    private static final String NAME = "smollm2-135m";
    private static final int THREADS = Runtime.getRuntime().availableProcessors();

    private final JsonNode golden = Goldens.json(NAME);

    @Test
    void dequantisedLogitsEqualThoseOfTransformersWithinAThousandth() {
        float[] expected = Goldens.floats(NAME + ".f32.gz");
        int stride = golden.get("stride").asInt();
        double worst = 0;
        try (Decoder decoder = decoder(1, true)) {
            int at = 0;
            for (int i = 0; i < golden.get("logit_cases").asInt(); i++) {
                JsonNode item = golden.get("cases").get(i);
                float[] logits = decoder.extend(0, 0, Goldens.ints(item.get("prompt")), Shaping.PLAIN)
                        .allLogits()
                        .get();
                for (int token = 0; token < logits.length; token += i == 0 ? 1 : stride) {
                    worst = Math.max(worst, Math.abs(logits[token] - expected[at++]));
                }
            }
            assertThat(at).isEqualTo(expected.length);
        }
        System.out.printf("SmolLM2-135M in fp32: logits differ from Transformers by at most %.1e%n", worst);
        assertThat(worst).isLessThanOrEqualTo(1e-3);
    }

    @Test
    void greedyTokensEqualThoseOfTransformersAlsoInABatch() {
        try (Decoder decoder = decoder(golden.get("cases").size(), true)) {
            int count = golden.get("cases").size();
            int[][] chosen = new int[count][64];
            int[] pasts = new int[count];
            int[] next = new int[count];
            for (int row = 0; row < count; row++) {
                int[] prompt = Goldens.ints(golden.get("cases").get(row).get("prompt"));
                // In two pieces, so that a chunk onto existing cells is covered.
                decoder.extend(row, 0, Arrays.copyOf(prompt, prompt.length / 2), Shaping.PLAIN);
                Candidates last = decoder.extend(
                        row,
                        prompt.length / 2,
                        Arrays.copyOfRange(prompt, prompt.length / 2, prompt.length),
                        Shaping.PLAIN);
                pasts[row] = prompt.length;
                next[row] = last.topTokens()[0];
            }
            for (int i = 0; i < 64; i++) {
                for (int row = 0; row < count; row++) {
                    chosen[row][i] = next[row];
                }
                List<Candidates> candidates = decoder.step(pasts, next, Collections.nCopies(count, Shaping.PLAIN));
                for (int row = 0; row < count; row++) {
                    next[row] = candidates.get(row).topTokens()[0];
                    pasts[row]++;
                }
            }
            for (int row = 0; row < count; row++) {
                assertThat(chosen[row])
                        .as("continuation of prompt %d", row)
                        .containsExactly(
                                Goldens.ints(golden.get("cases").get(row).get("greedy")));
            }
        }
    }

    @Test
    void quantisedPathAgreesOnTheLikeliestToken() {
        int count = golden.get("cases").size();
        int[][] texts = new int[count][];
        int[][] likeliest = new int[count][];
        for (int row = 0; row < count; row++) {
            JsonNode item = golden.get("cases").get(row);
            int[] prompt = Goldens.ints(item.get("prompt"));
            int[] greedy = Goldens.ints(item.get("greedy"));
            texts[row] = Arrays.copyOf(prompt, prompt.length + greedy.length);
            System.arraycopy(greedy, 0, texts[row], prompt.length, greedy.length);
            likeliest[row] = Goldens.ints(item.get("argmax"));
        }
        try (Decoder exact = decoder(count, true);
                Decoder quantised = decoder(count, false)) {
            Agreement agreement = Agreement.measure(exact, quantised, texts, likeliest);
            System.out.println("SmolLM2-135M with int8 activations: " + agreement);
            assertThat(agreement.share()).isGreaterThanOrEqualTo(0.98);
            assertThat(agreement.divergence()).isLessThan(0.01);
        }
    }

    private static Decoder decoder(int rows, boolean dequantise) {
        return new OnnxDecoder(Checkpoint.open(SharedData.model(NAME)), rows, rows, 256, THREADS, dequantise);
    }
}
