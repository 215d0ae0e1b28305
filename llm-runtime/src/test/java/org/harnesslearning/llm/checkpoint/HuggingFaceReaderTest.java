package org.harnesslearning.llm.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HuggingFaceReaderTest {

    @TempDir
    private Path directory;

    @Test
    void shardsAreReadAsOneModel() throws IOException {
        Path one = TinyCheckpoints.huggingFace(directory.resolve("one"), "qwen2-untied", 1);
        Path three = TinyCheckpoints.huggingFace(directory.resolve("three"), "qwen2-untied", 3);
        try (Checkpoint whole = Checkpoint.open(one);
                Checkpoint sharded = Checkpoint.open(three)) {
            assertThat(sharded.parameters()).isEqualTo(whole.parameters());
            assertThat(Dequantiser.all(sharded.tensor(1, "ffn_up.weight")))
                    .containsExactly(Dequantiser.all(whole.tensor(1, "ffn_up.weight")));
            assertThat(sharded.weightsHash()).matches("sha256:[0-9a-f]{64}").isNotEqualTo(whole.weightsHash());
            assertThat(sharded.interleavedHeads()).isFalse();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "'\"model_type\":\"qwen3\"', '\"model_type\":\"mamba\"', mamba",
        "'\"num_hidden_layers\":2', '\"num_hidden_layers\":3', blk.2.attn_norm.weight is missing",
        "'\"hidden_size\":32', '\"hidden_size\":48', the configuration says",
        "'\"vocab_size\":96', '\"vocab_size\":-1', vocab_size",
        "'\"hidden_act\":\"silu\"', '\"hidden_act\":\"relu\"', relu",
        "'\"rope_type\":\"default\"', '\"rope_type\":\"yarn\"', yarn",
        "'{', '[', JSON"
    })
    void wrongConfigurationsAreNamed(String from, String to, String reason) throws IOException {
        Path model = TinyCheckpoints.huggingFace(directory, "qwen3-tied", 1);
        Path config = model.resolve("config.json");
        String text = Files.readString(config);
        assertThat(text).contains(from);
        Files.writeString(config, text.replace(from, to));
        assertThatThrownBy(() -> Checkpoint.open(model).close())
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("qwen3-tied")
                .hasMessageContaining(reason);
    }

    @Test
    void everyTruncationIsNoticed() throws IOException {
        Path model = TinyCheckpoints.huggingFace(directory, "llama-untied", 1);
        Path weights = model.resolve("model.safetensors");
        byte[] bytes = Files.readAllBytes(weights);
        for (int length = 0; length < bytes.length; length += length < 300 ? 1 : 1009) {
            Files.write(weights, Arrays.copyOf(bytes, length));
            assertThatThrownBy(() -> Checkpoint.open(model).close())
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("model.safetensors");
        }
    }

    @Test
    void missingFilesAreNamed() throws IOException {
        Path model = TinyCheckpoints.huggingFace(directory, "llama-untied", 2);
        Files.delete(model.resolve("model-00002-of-00002.safetensors"));
        assertThatThrownBy(() -> Checkpoint.open(model))
                .hasMessageContaining("model-00002-of-00002.safetensors")
                .hasMessageContaining("no such file");
        assertThatThrownBy(() -> Checkpoint.open(directory)).hasMessageContaining("config.json");
    }
}
