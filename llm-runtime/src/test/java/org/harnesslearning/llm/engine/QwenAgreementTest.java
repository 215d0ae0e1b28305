package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.Gguf;
import org.harnesslearning.llm.ggml.Ggml;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ProductKernels;
import org.harnesslearning.llm.tokenizer.Tokenizer;
import org.harnesslearning.llm.vnni.Vnni;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What rounding inputs to int8 costs a larger model, for each of those who can multiply. */
@Tag("long")
class QwenAgreementTest {

    private static final int NEW_TOKENS = 48;
    private static final int THREADS = Runtime.getRuntime().availableProcessors();
    private static final String CHAT = "<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n";

    private static final String[] PROMPTS = {
        "def moving_average(values, width):\n    \"\"\"",
        "SELECT customer, SUM(amount) FROM orders",
        CHAT.formatted("What is 17 plus 25? Think step by step."),
        CHAT.formatted("Write a Python function that reverses the words of a sentence."),
        CHAT.formatted("Which is heavier, a litre of oil or a litre of water?"),
        "The three laws of motion are",
    };

    @Test
    @RequiresModel("qwen2.5-coder-0.5b")
    void theHalfBillionModelFollowsItsExactWeights() {
        assertFollowsItsExactWeights("qwen2.5-coder-0.5b");
    }

    @Test
    @RequiresModel("qwen2.5-coder-1.5b")
    void theOneAndAHalfBillionModelFollowsItsExactWeights() {
        assertFollowsItsExactWeights("qwen2.5-coder-1.5b");
    }

    private static void assertFollowsItsExactWeights(String name) {
        Path file = SharedData.model(name);
        int[][] prompts = new int[PROMPTS.length][];
        try (Gguf gguf = Gguf.open(file);
                Tokenizer tokenizer = Tokenizer.fromGguf(gguf.metadata(), name)) {
            for (int i = 0; i < prompts.length; i++) {
                prompts[i] = tokenizer.encode(PROMPTS[i], true);
            }
        }
        try (Decoder exact = decoder(file, true, ProductKernels.ONNX)) {
            int[][] texts = Agreement.continued(exact, prompts, NEW_TOKENS);
            for (ProductKernels kernels : ProductKernels.values()) {
                if (kernels == ProductKernels.GGML && Ggml.available() == null
                        || kernels == ProductKernels.VNNI && Vnni.available() == null) {
                    continue;
                }
                try (Decoder rounding = decoder(file, false, kernels)) {
                    Agreement agreement = Agreement.measure(exact, rounding, texts);
                    System.out.printf("%s, %s: %s%n", name, kernels, agreement);
                    // ggml rounds 256 inputs with one scale, and loses more where some of them are large.
                    boolean coarse = kernels == ProductKernels.GGML;
                    assertThat(agreement.share()).as("%s", kernels).isGreaterThan(coarse ? 0.95 : 0.98);
                    assertThat(agreement.divergence()).as("%s", kernels).isLessThan(coarse ? 0.1 : 0.01);
                }
            }
        }
    }

    private static Decoder decoder(Path file, boolean dequantise, ProductKernels kernels) {
        Checkpoint checkpoint = Checkpoint.open(file);
        DecoderGraph.Options options =
                DecoderGraph.Options.of(checkpoint, 160, dequantise).withKernels(kernels);
        return new OnnxDecoder(
                checkpoint, PROMPTS.length, PROMPTS.length, 160, THREADS, DecoderGraph.build(checkpoint, options));
    }
}
