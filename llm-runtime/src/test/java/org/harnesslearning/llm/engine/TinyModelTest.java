package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.Goldens;
import org.harnesslearning.llm.checkpoint.TinyCheckpoints;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Small random models of each family against Hugging Face Transformers. */
class TinyModelTest {

    @TempDir
    private Path directory;

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
    void theSameModelsAsGgufFilesGiveTheSameLogits(String name) throws IOException {
        assertLogits(TinyCheckpoints.gguf(directory, name), Goldens.json("tiny").get(name));
    }

    /** Transformers up to version 4 wrote {@code rope_theta} and {@code rope_scaling}. */
    @ParameterizedTest
    @ValueSource(strings = {"llama-untied", "llama-tied-llama3-rope", "llama-linear-rope-biases"})
    void configurationsInTheOlderFormAreReadAlike(String name) throws IOException {
        Path checkpoint = TinyCheckpoints.huggingFace(directory, name, 1);
        JsonMapper json = JsonMapper.builder().build();
        Path file = checkpoint.resolve("config.json");
        ObjectNode config = (ObjectNode) json.readTree(Files.readAllBytes(file));
        ObjectNode rope = (ObjectNode) config.remove("rope_parameters");
        config.set("rope_theta", rope.remove("rope_theta"));
        if (rope.get("rope_type").asString().equals("linear")) {
            rope.set("type", rope.remove("rope_type"));
        }
        config.set(
                "rope_scaling",
                name.equals("llama-untied") ? json.getNodeFactory().nullNode() : rope);
        Files.writeString(file, config.toString());
        assertLogits(checkpoint, Goldens.json("tiny").get(name));
    }

    private static void assertLogits(Path checkpoint, JsonNode golden) {
        try (OnnxDecoder decoder = new OnnxDecoder(Checkpoint.open(checkpoint), 2, 1, 128, 1, false)) {
            for (JsonNode item : golden.get("cases")) {
                int[] prompt = Goldens.ints(item.get("prompt"));
                float[] logits =
                        decoder.extend(1, 0, prompt, Shaping.PLAIN).allLogits().get();
                assertThat(Logits.maxDifference(logits, Goldens.floats(item.get("logits"))))
                        .isLessThan(1e-5);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "llama-untied, 1",
        "llama-tied-llama3-rope, 1",
        "llama-linear-rope-biases, 2",
        "qwen2-tied, 3",
        "qwen2-untied, 1",
        "qwen3-tied, 1",
        "qwen3-untied, 2"
    })
    void logitsAndGreedyTokensEqualThoseOfTransformers(String name, int shards) throws IOException {
        Path checkpoint = TinyCheckpoints.huggingFace(directory, name, shards);
        JsonNode golden = Goldens.json("tiny").get(name);
        assertLogits(checkpoint, golden);
        EngineOptions options = EngineOptions.defaults().withSlots(2).withThreads(1);
        try (LanguageModel model = LanguageModel.load(checkpoint, options)) {
            assertThat(model.card().architecture()).isEqualTo(name.split("-")[0]);
            assertThat(model.card().endTokens()).containsExactly(1);
            assertThat(model.options().maxSequence()).isEqualTo(128);
            for (JsonNode item : golden.get("cases")) {
                int[] expected = Goldens.ints(item.get("greedy"));
                GenerationRequest request = GenerationRequest.greedy(Goldens.ints(item.get("prompt")), expected.length)
                        .withIgnoreEndTokens(true);
                assertThat(model.submit(request)
                                .result()
                                .join()
                                .sequences()
                                .getFirst()
                                .tokenIds())
                        .containsExactly(expected);
            }
        }
    }
}
