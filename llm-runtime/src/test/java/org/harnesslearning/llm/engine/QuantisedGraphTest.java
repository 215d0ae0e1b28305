package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.GgufWriter;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.harnesslearning.llm.ggml.Ggml;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ProductKernels;
import org.harnesslearning.llm.sampling.Candidates;
import org.harnesslearning.llm.vnni.Vnni;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each form of each weight type computes what its dequantised weights do, up to int8 activations. */
class QuantisedGraphTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource(TensorType.class)
    void packedWeightsComputeWhatDequantisedOnesDo(TensorType type) throws IOException {
        assertComputesWhatDequantisedWeightsDo(type, "llama", Form.PACKED);
        assertComputesWhatDequantisedWeightsDo(type, "llama", Form.PACKED_FINE);
    }

    @ParameterizedTest
    @EnumSource(TensorType.class)
    void storedWeightsComputeWhatDequantisedOnesDo(TensorType type) throws IOException {
        assumeGgml();
        assertComputesWhatDequantisedWeightsDo(type, "llama", Form.STORED);
        assertComputesWhatDequantisedWeightsDo(type, "qwen2", Form.STORED);
    }

    @ParameterizedTest
    @EnumSource(TensorType.class)
    void tiledWeightsComputeWhatDequantisedOnesDo(TensorType type) throws IOException {
        assumeVnni();
        assertComputesWhatDequantisedWeightsDo(type, "llama", Form.TILED);
        assertComputesWhatDequantisedWeightsDo(type, "qwen2", Form.TILED);
    }

    /** The products are equal to the last bit (see ProductsTest, TiledProductsTest); attention differs by a rounding of fp32. */
    @ParameterizedTest
    @EnumSource(TensorType.class)
    void resultsOfStoredWeightsDependNeitherOnBatchNorOnChunksNorOnThreads(TensorType type) throws IOException {
        assumeGgml();
        assertDependOnNothingElse(type, Form.STORED);
    }

    @ParameterizedTest
    @EnumSource(TensorType.class)
    void resultsOfTiledWeightsDependNeitherOnBatchNorOnChunksNorOnThreads(TensorType type) throws IOException {
        assumeVnni();
        assertDependOnNothingElse(type, Form.TILED);
    }

    private void assertDependOnNothingElse(TensorType type, Form form) throws IOException {
        Path file = file(type, "qwen2");
        int[] tokens = new Random(2).ints(12, 0, 64).toArray();
        try (OnnxDecoder one = decoder(file, 1, 1, form);
                OnnxDecoder many = decoder(file, 5, 3, form)) {
            float[] alone = one.extend(0, 0, tokens, Shaping.PLAIN).allLogits().get();
            for (int row = 0; row < 5; row++) {
                many.extend(row, 0, Arrays.copyOf(tokens, 4 + row), Shaping.PLAIN);
                many.extend(row, 4 + row, Arrays.copyOfRange(tokens, 4 + row, 11), Shaping.PLAIN);
            }
            int[] pasts = new int[5];
            int[] last = new int[5];
            Arrays.fill(pasts, 11);
            Arrays.fill(last, tokens[11]);
            for (Candidates candidates : many.step(pasts, last, Collections.nCopies(5, Shaping.PLAIN))) {
                assertThat(Logits.maxDifference(alone, candidates.allLogits().get()))
                        .isLessThan(1e-5);
            }
        }
    }

    /** One row takes the graph with all matrices as stored, several the other one; both go on with the same cache. */
    @ParameterizedTest
    @EnumSource(
            value = TensorType.class,
            names = {"Q4_K", "Q6_K"})
    void aStepOfOneRowAndOneOfSeveralShareTheCache(TensorType type) throws IOException {
        assumeGgml();
        Path file = file(type, "qwen2");
        int[] tokens = new Random(2).ints(12, 0, 64).toArray();
        Checkpoint checkpoint = Checkpoint.open(file);
        DecoderGraph.Options options =
                DecoderGraph.Options.of(checkpoint, 64, false).withFine(false);
        DecoderPlan plan = DecoderPlan.processor(
                DecoderGraph.build(checkpoint, options),
                DecoderGraph.build(checkpoint, options.withKernels(ProductKernels.GGML)));
        try (OnnxDecoder both = new OnnxDecoder(
                        checkpoint, 3, 3, 64, 2, plan, 1, 1, new HostMemory(), DecoderPlan.noOperators());
                OnnxDecoder packed = decoder(file, 3, 2, Form.PACKED);
                OnnxDecoder stored = decoder(file, 3, 2, Form.STORED)) {
            for (OnnxDecoder decoder : List.of(both, packed, stored)) {
                for (int row = 0; row < 3; row++) {
                    decoder.extend(row, 0, tokens, Shaping.PLAIN);
                }
            }
            float[] alone = logits(both, 1);
            float[] together = logits(both, 3);
            assertThat(together).containsExactly(logits(packed, 3));
            // The prompts went through other kernels, so the caches differ by the rounding of their inputs.
            assertThat(relative(logits(stored, 1), alone)).isLessThan(0.05);
            assertThat(relative(together, alone)).isLessThan(0.05);
        }
    }

    /** Logits of the first row after a step of the first so many rows. */
    private static float[] logits(OnnxDecoder decoder, int rows) {
        int[] pasts = new int[rows];
        int[] tokens = new int[rows];
        Arrays.fill(pasts, 12);
        Arrays.fill(tokens, 5);
        return decoder.step(pasts, tokens, Collections.nCopies(rows, Shaping.PLAIN))
                .getFirst()
                .allLogits()
                .get();
    }

    private static double relative(float[] exact, float[] rounded) {
        double power = 0;
        double error = 0;
        for (int i = 0; i < exact.length; i++) {
            power += exact[i] * exact[i];
            error += (exact[i] - rounded[i]) * (exact[i] - rounded[i]);
        }
        assertThat(power).isPositive().isFinite();
        return Math.sqrt(error / power);
    }

    private Path file(TensorType type, String architecture) throws IOException {
        GgufWriter writer = GgufWriter.decoder(architecture, type, 256, 5);
        if (architecture.equals("qwen2")) {
            for (String part : new String[] {"q", "k", "v"}) {
                float[] bias = new float[part.equals("q") ? 256 : 128];
                for (int i = 0; i < bias.length; i++) {
                    bias[i] = 0.1f * (i % 7 - 3);
                }
                writer.floats("blk.0.attn_" + part + ".bias", bias, bias.length);
            }
        }
        return writer.write(directory.resolve("tiny.gguf"));
    }

    private static void assumeGgml() {
        Assumptions.assumeTrue(Ggml.available() != null, "this machine cannot use ggml");
    }

    private static void assumeVnni() {
        Assumptions.assumeTrue(Vnni.available() != null, "this processor has no 512-bit byte products");
    }

    private void assertComputesWhatDequantisedWeightsDo(TensorType type, String architecture, Form matrices)
            throws IOException {
        Path file = file(type, architecture);
        int[] tokens = new Random(2).ints(12, 0, 64).toArray();
        float[] exact = logits(file, tokens, Form.DEQUANTISED);
        float[] rounded = logits(file, tokens, matrices);
        assertThat(relative(exact, rounded)).isLessThan(type.quantised() ? 0.05 : 1e-6);
    }

    private static float[] logits(Path file, int[] tokens, Form matrices) {
        try (OnnxDecoder decoder = decoder(file, 1, 1, matrices)) {
            return decoder.extend(0, 0, tokens, Shaping.PLAIN).allLogits().get();
        }
    }

    private static OnnxDecoder decoder(Path file, int rows, int threads, Form form) {
        Checkpoint checkpoint = Checkpoint.open(file);
        DecoderGraph.Options options = DecoderGraph.Options.of(checkpoint, 64, form == Form.DEQUANTISED)
                .withFine(form == Form.PACKED_FINE)
                .withKernels(form.kernels);
        return new OnnxDecoder(checkpoint, rows, rows, 64, threads, DecoderGraph.build(checkpoint, options));
    }

    private enum Form {
        DEQUANTISED(ProductKernels.ONNX),
        PACKED(ProductKernels.ONNX),
        PACKED_FINE(ProductKernels.ONNX),
        STORED(ProductKernels.GGML),
        TILED(ProductKernels.VNNI);

        private final ProductKernels kernels;

        Form(ProductKernels kernels) {
            this.kernels = kernels;
        }
    }
}
