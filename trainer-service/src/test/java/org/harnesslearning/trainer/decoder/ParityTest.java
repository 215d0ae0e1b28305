package org.harnesslearning.trainer.decoder;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Small random models of each family: the training decoder against Transformers, PEFT and the serving engine. */
class ParityTest {

    private static final DecoderSettings SETTINGS =
            DecoderSettings.onProcessor().withThreads(1);

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "llama-untied",
                "llama-tied-llama3-rope",
                "llama-linear-rope-biases",
                "qwen2-tied",
                "qwen2-untied",
                "qwen3-tied",
                "qwen3-untied"
            })
    void logits_equal_those_of_transformers(String name) {
        Path checkpoint = TinyModels.write(folder, name);
        try (TrainableDecoder decoder = TrainableDecoder.open(checkpoint, LoraSettings.of(4, 8), SETTINGS, 1)) {
            for (JsonNode item : TinyModels.runtimeGolden("tiny.json").get(name).get("cases")) {
                int[] prompt = TinyModels.ints(item.get("prompt"));
                float[] expected = TinyModels.floats(item.get("logits"));
                assertThat(TinyModels.maxDifference(decoder.logits(prompt, false), expected))
                        .isLessThan(2e-5);
                assertThat(decoder.logits(prompt, true))
                        .as("a new adapter has no effect")
                        .isEqualTo(decoder.logits(prompt, false));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama-all", "qwen2-all", "qwen3-all"})
    void an_adapter_that_peft_saved_gives_the_logits_of_its_merged_model(String name) throws IOException {
        JsonNode golden = TinyModels.runtimeGolden("adapters.json").get(name);
        LoraFiles files = LoraFiles.read(TinyModels.runtimeAdapter(name));
        Path checkpoint = TinyModels.write(folder, golden.get("base").asString());
        try (TrainableDecoder decoder = TrainableDecoder.open(checkpoint, LoraSettings.of(files), SETTINGS, 1)) {
            decoder.load(files);
            for (JsonNode item : golden.get("cases")) {
                int[] prompt = TinyModels.ints(item.get("prompt"));
                float[] adapted = decoder.logits(prompt, true);
                assertThat(TinyModels.maxDifference(adapted, TinyModels.floats(item.get("logits"))))
                        .isLessThan(5e-5);
                assertThat(TinyModels.maxDifference(adapted, decoder.logits(prompt, false)))
                        .as("the adapter has an effect")
                        .isGreaterThan(0.01);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama-linear-rope-biases", "qwen2-tied", "qwen3-untied"})
    void the_serving_engine_samples_with_the_probabilities_that_training_sees(String name) throws IOException {
        Path checkpoint = TinyModels.write(folder, name);
        double temperature = 0.7;
        EngineOptions options = EngineOptions.defaults()
                .withSlots(4)
                .withThreads(1)
                .withDequantise(true)
                .withAdapters(1, 8);
        try (TrainableDecoder decoder = TrainableDecoder.open(checkpoint, LoraSettings.of(3, 12), SETTINGS, 1);
                LanguageModel engine = LanguageModel.load(checkpoint, options)) {
            assertThat(decoder.baseHash()).isEqualTo(engine.card().weightsHash());
            TinyModels.fillByFormula(decoder, 0.2f);
            LoraFiles files = decoder.adapter();
            files.write(folder.resolve("adapter"));
            LoraAdapter adapter = LoraAdapter.read(folder.resolve("adapter"));
            assertThat(adapter.hash()).isEqualTo(files.hash());
            engine.loadAdapter("trained", adapter);

            int[] prompt = IntStream.range(0, 21).map(i -> (13 * i + 5) % 96).toArray();
            GenerationRequest request = GenerationRequest.of(prompt, 24, new Sampling(temperature, 1, 0, 1), 7)
                    .withSamples(4)
                    .withIgnoreEndTokens(true);
            for (boolean adapted : new boolean[] {false, true}) {
                List<org.harnesslearning.llm.Sequence> sampled = engine.submit(
                                request.withAdapter(adapted ? "trained" : null))
                        .result()
                        .join()
                        .sequences();
                List<Sequence> batch = sampled.stream()
                        .map(sample -> new Sequence(prompt, sample.tokenIds()))
                        .toList();
                List<float[]> expected = sampled.stream()
                        .map(org.harnesslearning.llm.Sequence::logprobs)
                        .toList();
                List<float[]> actual =
                        adapted ? decoder.logprobs(batch, temperature) : decoder.referenceLogprobs(batch, temperature);
                assertThat(TinyModels.maxDifference(actual, expected)).isLessThan(1e-4);
            }
        }
    }
}
