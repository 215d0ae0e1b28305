package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.GgufWriter;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The packed form of each weight type computes what its dequantised weights do, up to int8 activations. */
class QuantisedGraphTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource(TensorType.class)
    void packedWeightsComputeWhatDequantisedOnesDo(TensorType type) throws IOException {
        Path file = GgufWriter.decoder("llama", type, 256, 5).write(directory.resolve("tiny.gguf"));
        int[] tokens = new Random(2).ints(12, 0, 64).toArray();
        float[] exact = logits(file, tokens, true, false);
        for (boolean fine : new boolean[] {false, true}) {
            float[] packed = logits(file, tokens, false, fine);
            double power = 0;
            double error = 0;
            for (int i = 0; i < exact.length; i++) {
                power += exact[i] * exact[i];
                error += (exact[i] - packed[i]) * (exact[i] - packed[i]);
            }
            assertThat(power).isPositive().isFinite();
            assertThat(Math.sqrt(error / power)).isLessThan(type.quantised() ? 0.03 : 1e-6);
        }
    }

    private static float[] logits(Path file, int[] tokens, boolean dequantise, boolean fine) {
        Checkpoint checkpoint = Checkpoint.open(file);
        DecoderGraph.Built graph = DecoderGraph.build(
                checkpoint, DecoderGraph.Options.of(checkpoint, 64, dequantise).withFine(fine));
        try (OnnxDecoder decoder = new OnnxDecoder(checkpoint, 1, 1, 64, 1, graph)) {
            return decoder.extend(0, 0, tokens, Shaping.PLAIN).allLogits().get();
        }
    }
}
