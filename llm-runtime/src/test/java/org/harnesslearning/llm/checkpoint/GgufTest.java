package org.harnesslearning.llm.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GgufTest {

    @TempDir
    private Path directory;

    private Path write(byte[] bytes) throws IOException {
        return Files.write(directory.resolve("model.gguf"), bytes);
    }

    private void assertRefused(GgufWriter gguf, String reason) throws IOException {
        Path file = write(gguf.toBytes());
        assertThatThrownBy(() -> Checkpoint.open(file).close())
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("model.gguf")
                .hasMessageContaining(reason);
    }

    private static GgufWriter good() {
        return GgufWriter.decoder("llama", TensorType.F32, 32, 1);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void readsMetadataAndTensors(int version) throws IOException {
        GgufWriter writer = good().version(version).put("flag", true);
        try (Gguf gguf = Gguf.open(write(writer.toBytes()))) {
            assertThat(gguf.metadata())
                    .containsEntry("general.architecture", "llama")
                    .containsEntry("llama.block_count", 1L)
                    .containsEntry("flag", true)
                    .containsEntry("tokenizer.ggml.token_type", List.of(1L, 3L, 3L, 1L));
            assertThat(gguf.tensors().get("blk.0.attn_k.weight").shape()).containsExactly(16L, 32L);
        }
    }

    @Test
    void findsConfigurationAndEndTokens() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(write(good().toBytes()))) {
            assertThat(checkpoint.config().headSize()).isEqualTo(8);
            assertThat(checkpoint.config().vocabulary()).isEqualTo(64);
            assertThat(checkpoint.untied()).isFalse();
            assertThat(checkpoint.interleavedHeads()).isTrue();
            // 3 looks like an end token but is no control token.
            assertThat(checkpoint.endTokens()).containsExactlyInAnyOrder(1, 2);
            assertThat(checkpoint.weightsHash()).matches("sha256:[0-9a-f]{64}");
        }
    }

    @Test
    void everyTruncationIsNoticed() throws IOException {
        byte[] bytes = good().toBytes();
        for (int length = 0; length < bytes.length; length += length < 3000 ? 1 : 97) {
            Path file = write(Arrays.copyOf(bytes, length));
            assertThatThrownBy(() -> Checkpoint.open(file).close())
                    .as("first %d of %d bytes", length, bytes.length)
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("model.gguf");
        }
    }

    @Test
    void damagedHeadersGiveAClearErrorOrAReadableCheckpoint() throws IOException {
        byte[] bytes = good().toBytes();
        Random random = new Random(3);
        for (int round = 0; round < 1500; round++) {
            byte[] damaged = bytes.clone();
            for (int i = random.nextInt(3); i >= 0; i--) {
                damaged[random.nextInt(2200)] = (byte) random.nextInt();
            }
            Path file = write(damaged);
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                assertThat(checkpoint.parameters()).isPositive();
            } catch (CheckpointException e) {
                assertThat(e.file()).isEqualTo(file.toString());
                assertThat(e.reason()).isNotBlank();
            }
        }
    }

    @Test
    void namesWhatIsWrong() throws IOException {
        assertRefused(good().version(1), "version 1");
        assertRefused(good().put("general.architecture", "gemma3"), "architecture \"gemma3\" is not supported");
        assertRefused(good().without("general.architecture"), "general.architecture is missing");
        assertRefused(good().without("llama.block_count"), "llama.block_count is missing");
        assertRefused(good().put("llama.block_count", 2L), "blk.1.attn_norm.weight is missing");
        assertRefused(good().put("llama.embedding_length", 64L), "the configuration says");
        assertRefused(good().put("llama.attention.head_count_kv", 3L), "do not divide");
        assertRefused(good().put("llama.rope.scaling.type", "yarn"), "rotary scaling \"yarn\"");
        assertRefused(good().put("llama.expert_count", 8L), "mixture-of-experts");
        assertRefused(good().without("blk.0.ffn_up.weight"), "tensor blk.0.ffn_up.weight is missing");
        assertRefused(good().tensor("extra", 16, new byte[64], 1, 256), "type number 16, which is not supported");
        assertRefused(good().tensor("extra", TensorType.Q4_K, new byte[64], 1, 100), "do not divide into blocks");
        assertRefused(good().tensor("extra", TensorType.F32, new byte[64], Long.MAX_VALUE / 2, 8), "impossible");
        assertRefused(GgufWriter.decoder("qwen2", TensorType.F32, 32, 1), "attn_q.bias is missing");
        assertRefused(GgufWriter.decoder("qwen3", TensorType.F32, 32, 1), "attn_q_norm.weight is missing");
    }

    @Test
    void otherFilesAreRefused() throws IOException {
        Path text = Files.writeString(directory.resolve("notes.txt"), "hello");
        assertThatThrownBy(() -> Checkpoint.open(text)).hasMessageContaining("not a GGUF file");
        assertThatThrownBy(() -> Checkpoint.open(directory.resolve("absent.gguf")))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("no such file");
    }
}
