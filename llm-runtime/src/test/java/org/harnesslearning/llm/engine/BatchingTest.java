package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.GenerationResult;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.MatrixKernels;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.Sequence;
import org.harnesslearning.llm.checkpoint.GgufWriter;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.harnesslearning.llm.checkpoint.TinyCheckpoints;
import org.harnesslearning.llm.vnni.Vnni;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Batching, prefix reuse and seeds through ONNX Runtime in fp32. */
class BatchingTest {

    private static final EngineOptions OPTIONS =
            EngineOptions.defaults().withSlots(4).withThreads(1).withPrefillChunk(7);

    @TempDir
    private Path directory;

    private static Sequence first(LanguageModel model, GenerationRequest request) {
        return model.submit(request).result().join().sequences().getFirst();
    }

    private LanguageModel load(EngineOptions options) throws IOException {
        return LanguageModel.load(TinyCheckpoints.huggingFace(directory, "qwen2-untied", 1), options);
    }

    private static List<GenerationRequest> requests(int count, Sampling sampling) {
        Random random = new Random(11);
        int[] stem = random.ints(30, 0, 96).toArray();
        List<GenerationRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int[] prompt = Arrays.copyOf(stem, random.nextInt(1, 31) + 10);
            for (int j = prompt.length - 10; j < prompt.length; j++) {
                prompt[j] = random.nextInt(96);
            }
            requests.add(GenerationRequest.of(prompt, random.nextInt(5, 40), sampling, i)
                    .withIgnoreEndTokens(true));
        }
        return requests;
    }

    @Test
    void batchedOutputEqualsIsolatedOutput() throws IOException {
        for (Sampling sampling : List.of(Sampling.greedy(), new Sampling(1, 0.95, 0, 1.1))) {
            List<GenerationRequest> requests = requests(20, sampling);
            List<int[]> isolated = new ArrayList<>();
            try (LanguageModel alone =
                    load(OPTIONS.withSlots(1).withSpareRows(0).withReusePrefixes(false))) {
                requests.forEach(request -> isolated.add(first(alone, request).tokenIds()));
            }
            try (LanguageModel together = load(OPTIONS)) {
                List<Generation> generations =
                        requests.stream().map(together::submit).toList();
                int cached = 0;
                for (int i = 0; i < requests.size(); i++) {
                    GenerationResult result = generations.get(i).result().join();
                    cached += result.cachedPromptTokens();
                    assertThat(result.sequences().getFirst().tokenIds()).containsExactly(isolated.get(i));
                }
                assertThat(cached).as("prefixes were reused").isPositive();
            }
        }
    }

    /** Quantised products are equal to the last bit in any company, so that the tokens are the same with int8, too. */
    @Test
    void batchedOutputOfTiledQuantisedWeightsEqualsIsolatedOutput() throws IOException {
        Assumptions.assumeTrue(Vnni.available() != null, "this processor has no 512-bit byte products");
        Path file = GgufWriter.decoder("llama", TensorType.Q4_K, 256, 5).write(directory.resolve("tiny.gguf"));
        EngineOptions tiled = OPTIONS.withThreads(2).withMatrixKernels(MatrixKernels.VNNI);
        Random random = new Random(12);
        List<GenerationRequest> requests = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            int[] prompt = random.ints(random.nextInt(2, 30), 0, 64).toArray();
            requests.add(GenerationRequest.greedy(prompt, random.nextInt(5, 30)).withIgnoreEndTokens(true));
        }
        List<int[]> isolated = new ArrayList<>();
        try (LanguageModel alone = LanguageModel.load(file, tiled.withSlots(1).withReusePrefixes(false))) {
            requests.forEach(request -> isolated.add(first(alone, request).tokenIds()));
        }
        try (LanguageModel together = LanguageModel.load(file, tiled)) {
            List<Generation> generations =
                    requests.stream().map(together::submit).toList();
            for (int i = 0; i < requests.size(); i++) {
                assertThat(generations
                                .get(i)
                                .result()
                                .join()
                                .sequences()
                                .getFirst()
                                .tokenIds())
                        .containsExactly(isolated.get(i));
            }
        }
    }

    @Test
    void aReusedPrefixGivesTheSameLogprobs() throws IOException {
        try (LanguageModel model = load(OPTIONS)) {
            for (GenerationRequest request : requests(6, Sampling.greedy())) {
                Sequence fresh = first(model, request);
                GenerationResult again = model.submit(request).result().join();
                assertThat(again.cachedPromptTokens()).isEqualTo(request.promptTokens().length - 1);
                assertThat(again.sequences().getFirst().tokenIds()).containsExactly(fresh.tokenIds());
                for (int i = 0; i < fresh.logprobs().length; i++) {
                    assertThat(again.sequences().getFirst().logprobs()[i])
                            .isCloseTo(fresh.logprobs()[i], org.assertj.core.data.Offset.offset(1e-4f));
                }
            }
        }
    }

    @Test
    void samplesOfOneRequestDifferAndAreReproducible() throws IOException {
        try (LanguageModel model = load(OPTIONS)) {
            GenerationRequest request =
                    requests(1, Sampling.ofTemperature(1)).getFirst().withSamples(6);
            List<Sequence> once = model.submit(request).result().join().sequences();
            List<Generation> noise = requests(5, Sampling.ofTemperature(0.5)).stream()
                    .map(model::submit)
                    .toList();
            List<Sequence> twice = model.submit(request).result().join().sequences();
            noise.forEach(generation -> generation.result().join());
            for (int i = 0; i < 6; i++) {
                assertThat(twice.get(i).tokenIds()).containsExactly(once.get(i).tokenIds());
            }
            assertThat(once.get(0).tokenIds()).isNotEqualTo(once.get(1).tokenIds());
            // The first sample is what a request for one sample gets.
            assertThat(first(model, request.withSamples(1)).tokenIds())
                    .containsExactly(once.get(0).tokenIds());
        }
    }
}
