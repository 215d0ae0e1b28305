package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.data.Offset;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.TinyCheckpoints;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.sampling.Candidates;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The head's arithmetic, and what is left of a decoder that could not be made. */
class OnnxDecoderTest {

    @TempDir
    private Path directory;

    private Checkpoint checkpoint() throws IOException {
        return Checkpoint.open(TinyCheckpoints.huggingFace(directory, "qwen2-untied", 1));
    }

    @Test
    void penaltiesChangeTheLogitsOfTheirTokensAlone() throws IOException {
        try (OnnxDecoder decoder = new OnnxDecoder(checkpoint(), 3, 3, 32, 1, false)) {
            int[] prompt = {5, 6, 7};
            float[] plain =
                    decoder.extend(0, 0, prompt, Shaping.PLAIN).allLogits().get();
            int[] tokens = {3, 40, 95};
            Shaping shaping = new Shaping(2, 1.5f, tokens, new float[] {0.25f, -1, 2});
            Candidates candidates = decoder.extend(0, 0, prompt, shaping);
            float[] expected = plain.clone();
            for (int i = 0; i < tokens.length; i++) {
                float logit = plain[tokens[i]];
                expected[tokens[i]] = (logit > 0 ? logit / 1.5f : logit * 1.5f) - shaping.offsets()[i];
            }
            double sum = 0;
            for (int i = 0; i < expected.length; i++) {
                expected[i] *= 2;
                sum += Math.exp(expected[i]);
            }
            assertThat(candidates.allLogits().get()).containsExactly(expected, Offset.offset(1e-5f));
            assertThat(candidates.logSum()).isCloseTo((float) Math.log(sum), Offset.offset(1e-4f));

            // Rows of one step with more, fewer and no penalised tokens.
            for (int row = 0; row < 3; row++) {
                decoder.extend(row, 0, new int[] {5, 6}, Shaping.PLAIN);
            }
            List<Candidates> rows = decoder.step(
                    new int[] {2, 2, 2},
                    new int[] {7, 7, 7},
                    List.of(Shaping.PLAIN, shaping, new Shaping(2, 1, new int[] {3}, new float[] {0.5f})));
            assertThat(rows.get(0).allLogits().get()).containsExactly(plain, Offset.offset(1e-5f));
            assertThat(rows.get(1).allLogits().get()).containsExactly(expected, Offset.offset(1e-5f));
            float[] third = plain.clone();
            for (int i = 0; i < third.length; i++) {
                third[i] = 2 * (third[i] - (i == 3 ? 0.5f : 0));
            }
            assertThat(rows.get(2).allLogits().get()).containsExactly(third, Offset.offset(1e-5f));
        }
    }

    @Test
    void aDecoderThatCannotBeMadeLeavesNoNativeMemoryBehind() throws IOException {
        Checkpoint checkpoint = checkpoint();
        DecoderGraph.Built graph = DecoderGraph.build(checkpoint, DecoderGraph.Options.of(checkpoint, 32, false));
        DecoderGraph.Built broken = new DecoderGraph.Built(
                new byte[] {1, 2, 3},
                graph.weights(),
                graph.top(),
                graph.adapters(),
                graph.kernels(),
                graph.products());
        long before = DeviceMemory.allocated();
        assertThatThrownBy(() -> new OnnxDecoder(checkpoint, 2, 2, 32, 1, broken))
                .isInstanceOf(RuntimeException.class);
        assertThat(DeviceMemory.allocated()).isEqualTo(before);
        // More cells than there are addresses.
        assertThatThrownBy(() -> new OnnxDecoder(checkpoint, 1 << 30, 2, 1 << 20, 1, graph))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(DeviceMemory.allocated()).isEqualTo(before);
        // The checkpoint is still the caller's.
        try (OnnxDecoder decoder = new OnnxDecoder(checkpoint, 2, 2, 32, 1, graph)) {
            assertThat(DeviceMemory.allocated()).isGreaterThan(before);
            assertThat(decoder.extend(0, 0, new int[] {1}, Shaping.PLAIN).topTokens())
                    .isNotEmpty();
        }
        assertThat(DeviceMemory.allocated()).isEqualTo(before);
    }
}
