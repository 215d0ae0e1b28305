package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.chat.ChatEncoder;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.GenAiFolder;
import org.harnesslearning.llm.checkpoint.Goldens;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.sampling.Candidates;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** A folder made by ONNX Runtime GenAI's model builder, against Hugging Face Transformers. */
class GenAiTest {

    private static final Path FOLDER = Goldens.folder("genai/genai_config.json");

    @TempDir
    private Path directory;

    private static GenAiDecoder decoder() {
        return new GenAiDecoder(GenAiFolder.open(FOLDER), 4, 3, 64, 1);
    }

    private static float[] logits(Candidates candidates) {
        return candidates.allLogits().get();
    }

    private Path copy() throws IOException {
        try (var files = Files.list(FOLDER)) {
            for (Path file : files.toList()) {
                Files.copy(file, directory.resolve(file.getFileName()));
            }
        }
        return directory;
    }

    @Test
    void logitsEqualThoseOfTransformers() {
        try (GenAiDecoder decoder = decoder()) {
            for (JsonNode item : Goldens.json("genai").get("cases")) {
                int[] ids = Goldens.ints(item.get("prompt"));
                float[] expected = Goldens.floats(item.get("logits"));
                assertThat(Logits.maxDifference(logits(decoder.extend(2, 0, ids, Shaping.PLAIN)), expected))
                        .isLessThan(1e-5);
                int part = ids.length / 2;
                if (part > 0) { // in two chunks
                    decoder.extend(1, 0, Arrays.copyOf(ids, part), Shaping.PLAIN);
                    int[] rest = Arrays.copyOfRange(ids, part, ids.length);
                    assertThat(Logits.maxDifference(logits(decoder.extend(1, part, rest, Shaping.PLAIN)), expected))
                            .isLessThan(1e-5);
                }
            }
        }
    }

    @Test
    void rowsOfDifferentLengthsInOneStepEqualEachAlone() {
        int[][] texts = {{3, 1, 4}, {5}, {9, 2, 6, 5, 3, 5, 8}};
        try (GenAiDecoder decoder = decoder()) {
            List<float[]> alone = new ArrayList<>();
            int[] pasts = new int[3];
            for (int row = 0; row < 3; row++) {
                int[] text = Arrays.copyOf(texts[row], texts[row].length + 1);
                text[texts[row].length] = 40 + row;
                alone.add(logits(decoder.extend(3, 0, text, Shaping.PLAIN)));
                pasts[row] = texts[row].length;
            }
            for (int row = 0; row < 3; row++) {
                decoder.extend(row, 0, texts[row], Shaping.PLAIN);
            }
            decoder.swap(0, pasts[0], 2, pasts[2]);
            decoder.copy(1, 3, pasts[1]);
            decoder.swap(0, pasts[2], 2, pasts[0]);
            List<Candidates> together = decoder.step(
                    pasts, new int[] {40, 41, 42}, List.of(Shaping.PLAIN, Shaping.ofTemperature(0.5), Shaping.PLAIN));
            for (int row = 0; row < 3; row++) {
                float[] logits = logits(together.get(row));
                for (int i = 0; i < logits.length; i++) {
                    logits[i] *= row == 1 ? 0.5f : 1; // what the temperature did
                }
                assertThat(Logits.maxDifference(logits, alone.get(row))).isLessThan(1e-5);
            }
        }
    }

    @Test
    void theEngineServesItLikeAnyCheckpoint() {
        EngineOptions options = EngineOptions.defaults()
                .withSlots(2)
                .withThreads(1)
                .withPrefillChunk(7)
                .withAdapters(1, 8);
        try (LanguageModel model = LanguageModel.load(FOLDER, options);
                ChatEncoder encoder = ChatEncoder.fromDirectory(FOLDER)) {
            assertThat(model.card().architecture()).isEqualTo("llama");
            assertThat(model.card().endTokens()).containsExactly(1);
            assertThat(model.card().weightsHash()).matches("sha256:[0-9a-f]{64}");
            assertThat(model.options().maxSequence()).isEqualTo(128);
            List<Generation> generations = new ArrayList<>();
            for (JsonNode item : Goldens.json("genai").get("cases")) {
                GenerationRequest request = GenerationRequest.greedy(
                        Goldens.ints(item.get("prompt")), item.get("greedy").size());
                generations.add(model.submit(request.withIgnoreEndTokens(true)));
            }
            for (int i = 0; i < generations.size(); i++) {
                assertThat(generations
                                .get(i)
                                .result()
                                .join()
                                .sequences()
                                .getFirst()
                                .tokenIds())
                        .containsExactly(Goldens.ints(
                                Goldens.json("genai").get("cases").get(i).get("greedy")));
            }
            assertThatThrownBy(() -> model.loadAdapter("a", LoraAdapter.read(Goldens.adapter("llama-all"))))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("takes no adapters");
            int[] tokens = encoder.tokenizer().encode("Hello", false);
            assertThat(encoder.tokenizer().decode(tokens, false)).isEqualTo("Hello");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"past_present_share_buffer\": true | \"past_present_share_buffer\": false | makes a new cache",
                "\"decoder\": { | \"vision\": {}, \"decoder\": { | part \"vision\"",
                "\"head_size\": 16 | \"head_size\": 0 | head_size is 0",
                "\"num_key_value_heads\": 1 | \"num_key_value_heads\": 2 | is no fp32 tensor (batch, 2 heads, sequence, 16)",
                "\"vocab_size\": 64 | \"vocab_size\": 65 | logits is no fp32 tensor",
                "\"present.%d.key\" | \"other.%d.key\" | has no input or output other.0.key",
                "\"num_hidden_layers\": 2 | \"num_hidden_layers\": 1 | not supported: past_key_values.1.key",
                "\"model.onnx\" | \"../model.onnx\" | no such file in the folder",
                "\"model\": { | \"model\": [ | is no JSON"
            })
    void unsupportedFoldersAreRefusedByName(String from, String to, String reason) throws IOException {
        Path config = copy().resolve("genai_config.json");
        String text = Files.readString(config);
        assertThat(text).contains(from);
        Files.writeString(config, text.replace(from, to));
        assertThatThrownBy(() -> GenAiFolder.open(directory))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(reason);
    }

    @Test
    void damagedAndMissingFilesAreNamed() throws IOException {
        Path graph = copy().resolve("model.onnx");
        byte[] bytes = Files.readAllBytes(graph);
        String hash = GenAiFolder.open(directory).weightsHash();
        Path data = directory.resolve("model.onnx.data");
        byte[] weights = Files.readAllBytes(data);
        weights[100] ^= 1;
        Files.write(data, weights);
        assertThat(GenAiFolder.open(directory).weightsHash()).isNotEqualTo(hash);
        Files.delete(data);
        assertThatThrownBy(() -> GenAiFolder.open(directory))
                .hasMessageContaining("model.onnx.data is not in the folder");
        for (int length : new int[] {0, 1, 100, bytes.length / 2, bytes.length - 1}) {
            Files.write(graph, Arrays.copyOf(bytes, length));
            assertThatThrownBy(() -> GenAiFolder.open(directory))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("model.onnx");
        }
    }
}
