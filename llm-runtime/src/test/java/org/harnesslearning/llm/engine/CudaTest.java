package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.harnesslearning.llm.Device;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.NumberType;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.GgufWriter;
import org.harnesslearning.llm.checkpoint.Goldens;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.harnesslearning.llm.checkpoint.TinyCheckpoints;
import org.harnesslearning.llm.cuda.CudaDevice;
import org.harnesslearning.llm.cuda.CudaException;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.sampling.Candidates;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** A GPU computes what the processor does. Skipped where there is no GPU. */
@Tag("cuda")
@EnabledIf(value = "gpuIsHere", disabledReason = "no NVIDIA GPU with its driver is here")
class CudaTest {

    private static final int ROWS = 4;
    private static final int POSITIONS = 64;

    @TempDir
    private Path directory;

    static boolean gpuIsHere() {
        return CudaDevice.count() > 0;
    }

    private Checkpoint checkpoint(String name) throws IOException {
        return Checkpoint.open(TinyCheckpoints.huggingFace(directory, name, 1));
    }

    private static OnnxDecoder onGpu(Checkpoint checkpoint, ElementType type, boolean own, boolean captured) {
        CudaMemory memory = new CudaMemory(CudaDevice.open(0));
        DecoderGraph.Options options = DecoderGraph.Options.of(checkpoint, POSITIONS, false);
        boolean headNorms = checkpoint.find(0, "attn_q_norm.weight") != null;
        return new OnnxDecoder(
                checkpoint,
                ROWS,
                ROWS,
                POSITIONS,
                1,
                own
                        ? DecoderPlan.own(checkpoint, options, type, captured)
                        : DecoderPlan.gpu(checkpoint, options, type, captured),
                1,
                1,
                memory,
                own
                        ? new CudaOperators(memory, checkpoint.config(), type, headNorms, ROWS)
                        : DecoderPlan.noOperators());
    }

    /** Worst error in units of the logits' spread. */
    private static double worst(List<float[]> actual, List<float[]> expected) {
        assertThat(actual).hasSameSizeAs(expected);
        double worst = 0;
        for (int i = 0; i < actual.size(); i++) {
            double power = 0;
            for (float logit : expected.get(i)) {
                power += logit * logit;
            }
            double spread = Math.sqrt(power / expected.get(i).length);
            double error = Logits.maxDifference(actual.get(i), expected.get(i)) / spread;
            assertThat(error).as("step %d", i).isNotNaN();
            worst = Math.max(worst, error);
        }
        return worst;
    }

    @ParameterizedTest
    @CsvSource({
        "llama-untied, FLOAT, true, false, 1e-4",
        "llama-untied, FLOAT, true, true, 1e-4",
        "llama-tied-llama3-rope, FLOAT, true, true, 1e-4",
        "qwen2-tied, FLOAT, true, true, 1e-4",
        "qwen3-tied, FLOAT, true, true, 1e-4",
        "qwen2-untied, FLOAT16, true, true, 0.02",
        "qwen3-untied, FLOAT16, true, true, 0.02",
        "llama-untied, BFLOAT16, true, true, 0.15",
        "qwen3-tied, BFLOAT16, true, true, 0.15",
        "llama-untied, FLOAT16, false, false, 0.02",
        "llama-untied, FLOAT16, false, true, 0.02",
        "qwen3-tied, FLOAT16, false, true, 0.02",
        "qwen2-tied, BFLOAT16, false, true, 0.15"
    })
    void logitsEqualThoseOfTheProcessor(String name, ElementType type, boolean own, boolean captured, double most)
            throws IOException {
        int vocabulary = checkpoint(name).config().vocabulary();
        List<float[]> expected;
        try (OnnxDecoder decoder = new OnnxDecoder(checkpoint(name), ROWS, ROWS, POSITIONS, 1, false)) {
            expected = GpuGraphTest.play(decoder, vocabulary);
        }
        try (OnnxDecoder decoder = onGpu(checkpoint(name), type, own, captured)) {
            assertThat(worst(GpuGraphTest.play(decoder, vocabulary), expected)).isLessThan(most);
            // Again, with steps that have been captured by now.
            assertThat(worst(GpuGraphTest.play(decoder, vocabulary), expected)).isLessThan(most);
        }
    }

    @Test
    void theHeadsCandidatesAreThoseOfAllLogits() throws IOException {
        try (OnnxDecoder decoder = onGpu(checkpoint("qwen2-untied"), ElementType.FLOAT, true, true)) {
            Random random = new Random(3);
            for (int step = 0; step < 20; step++) {
                Candidates candidates =
                        decoder.extend(0, 0, random.ints(5, 0, 96).toArray(), Shaping.ofTemperature(0.5));
                float[] logits = candidates.allLogits().get();
                double sum = 0;
                for (float logit : logits) {
                    sum += Math.exp(logit);
                }
                assertThat(candidates.logSum())
                        .isCloseTo((float) Math.log(sum), org.assertj.core.data.Offset.offset(1e-4f));
                float[] sorted = logits.clone();
                java.util.Arrays.sort(sorted);
                for (int i = 0; i < candidates.topLogits().length; i++) {
                    assertThat(candidates.topLogits()[i]).isEqualTo(sorted[sorted.length - 1 - i]);
                    assertThat(logits[candidates.topTokens()[i]])
                            .isEqualTo(candidates.topLogits()[i]);
                }
            }
        }
    }

    private static List<GenerationRequest> requests(Sampling sampling) {
        Random random = new Random(11);
        int[] stem = random.ints(30, 0, 96).toArray();
        List<GenerationRequest> requests = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            int[] prompt = java.util.Arrays.copyOf(stem, random.nextInt(1, 31) + 10);
            for (int j = prompt.length - 10; j < prompt.length; j++) {
                prompt[j] = random.nextInt(96);
            }
            requests.add(GenerationRequest.of(prompt, random.nextInt(5, 40), sampling, i)
                    .withIgnoreEndTokens(true));
        }
        return requests;
    }

    private static List<int[]> tokens(Path path, EngineOptions options, boolean together, Sampling sampling) {
        List<int[]> tokens = new ArrayList<>();
        try (LanguageModel model = LanguageModel.load(path, options)) {
            List<Generation> generations = new ArrayList<>();
            for (GenerationRequest request : requests(sampling)) {
                generations.add(model.submit(request));
                if (!together) {
                    generations.getLast().result().join();
                }
            }
            generations.forEach(generation ->
                    tokens.add(generation.result().join().sequences().getFirst().tokenIds()));
        }
        return tokens;
    }

    @Test
    void batchedTokensEqualIsolatedOnesAndThoseOfTheProcessorInFp32() throws IOException {
        Path path = TinyCheckpoints.huggingFace(directory, "qwen2-untied", 1);
        EngineOptions options =
                EngineOptions.defaults().withSlots(4).withThreads(1).withPrefillChunk(7);
        for (Sampling sampling : List.of(Sampling.greedy(), new Sampling(1, 0.95, 0, 1.1))) {
            List<int[]> expected = tokens(path, options, false, sampling);
            EngineOptions gpu = options.withDevice(Device.cuda(0), NumberType.FP32);
            assertThat(tokens(path, gpu, true, sampling))
                    .usingRecursiveComparison()
                    .isEqualTo(expected);
            assertThat(tokens(path, gpu.withSlots(1).withSpareRows(0).withReusePrefixes(false), false, sampling))
                    .usingRecursiveComparison()
                    .isEqualTo(expected);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = NumberType.class,
            names = {"FP16", "BF16"})
    void samplesOfOnePromptRunInHalfPrecision(NumberType type) throws IOException {
        Path path = TinyCheckpoints.huggingFace(directory, "qwen3-untied", 1);
        EngineOptions options = EngineOptions.defaults().withSlots(6).withDevice(Device.cuda(0), type);
        try (LanguageModel model = LanguageModel.load(path, options)) {
            GenerationRequest request = GenerationRequest.of(
                            new Random(1).ints(20, 0, 96).toArray(), 40, Sampling.ofTemperature(1), 5)
                    .withIgnoreEndTokens(true)
                    .withSamples(9);
            List<int[]> once = model.submit(request).result().join().sequences().stream()
                    .map(sequence -> sequence.tokenIds())
                    .toList();
            assertThat(once).hasSize(9).allSatisfy(ids -> assertThat(ids).hasSize(40));
            assertThat(once.get(0)).isNotEqualTo(once.get(1));
        }
    }

    @ParameterizedTest
    @EnumSource(TensorType.class)
    void quantisedWeightsComputeWhatDequantisedOnesDo(TensorType type) throws IOException {
        Path file = GgufWriter.decoder("llama", type, 256, 5).write(directory.resolve("tiny.gguf"));
        int[] tokens = new Random(2).ints(12, 0, 64).toArray();
        List<float[]> expected;
        try (OnnxDecoder decoder = new OnnxDecoder(Checkpoint.open(file), 2, 2, POSITIONS, 1, true)) {
            expected = twoSteps(decoder, tokens);
        }
        for (ElementType on : List.of(ElementType.FLOAT16, ElementType.BFLOAT16)) {
            try (OnnxDecoder decoder = onGpu(Checkpoint.open(file), on, true, true)) {
                assertThat(worst(twoSteps(decoder, tokens), expected))
                        .isLessThan(on == ElementType.FLOAT16 ? 0.03 : 0.15);
            }
        }
    }

    private static List<float[]> twoSteps(OnnxDecoder decoder, int[] tokens) {
        List<float[]> seen = new ArrayList<>();
        for (int row = 0; row < 2; row++) {
            seen.add(decoder.extend(row, 0, tokens, Shaping.PLAIN).allLogits().get());
        }
        int[] pasts = {tokens.length, tokens.length};
        decoder.step(pasts, new int[] {3, 4}, List.of(Shaping.PLAIN, Shaping.PLAIN))
                .forEach(candidates -> seen.add(candidates.allLogits().get()));
        seen.add(decoder.step(new int[] {tokens.length + 1}, new int[] {5}, List.of(Shaping.PLAIN))
                .getFirst()
                .allLogits()
                .get());
        return seen;
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama-all", "qwen3-all"})
    void adaptersGiveTheTokensOfTheMergedModel(String name) throws IOException {
        JsonNode golden = Goldens.json("adapters").get(name);
        Path path = TinyCheckpoints.huggingFace(directory, golden.get("base").asString(), 1);
        EngineOptions options =
                EngineOptions.defaults().withSlots(4).withAdapters(2, 8).withDevice(Device.cuda(0), NumberType.FP32);
        try (LanguageModel model = LanguageModel.load(path, options)) {
            model.loadAdapter("tuned", LoraAdapter.read(Goldens.adapter(name)));
            for (JsonNode item : golden.get("cases")) {
                int[] prompt = Goldens.ints(item.get("prompt"));
                int[] expected = Goldens.ints(item.get("greedy"));
                GenerationRequest request =
                        GenerationRequest.greedy(prompt, expected.length).withIgnoreEndTokens(true);
                // One without beside it.
                Generation plain = model.submit(request);
                Generation tuned = model.submit(request.withAdapter("tuned"));
                assertThat(tuned.result().join().sequences().getFirst().tokenIds())
                        .containsExactly(expected);
                assertThat(plain.result().join().sequences().getFirst().tokenIds())
                        .hasSameSizeAs(expected);
            }
        }
    }

    @Test
    void tooLittleMemoryIsAnExceptionThatSaysSo() {
        CudaMemory memory = new CudaMemory(CudaDevice.open(0));
        try {
            assertThatThrownBy(() -> memory.allocate(1L << 50))
                    .isInstanceOf(CudaException.class)
                    .hasMessageContaining("OUT_OF_MEMORY");
        } finally {
            memory.close();
        }
    }
}
