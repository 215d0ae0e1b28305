package org.harnesslearning.llm.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

class LoraAdapterTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Path SOURCE = Path.of("mine");

    private static byte[] config(String name) throws IOException {
        return Files.readAllBytes(Goldens.adapter(name).resolve(LoraAdapter.CONFIG_FILE));
    }

    private static byte[] weights(String name) throws IOException {
        return Files.readAllBytes(Goldens.adapter(name).resolve(LoraAdapter.WEIGHTS_FILE));
    }

    private static byte[] config(String name, String field, String json) throws IOException {
        ObjectNode node = (ObjectNode) JSON.readTree(config(name));
        node.set(field, JSON.readTree(json));
        return JSON.writeValueAsBytes(node);
    }

    /** The file with another header; the data stay. */
    private static byte[] weights(String name, String from, String to) throws IOException {
        byte[] bytes = weights(name);
        int length = (int) ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong();
        String header = new String(bytes, 8, length, StandardCharsets.UTF_8);
        assertThat(header).contains(from);
        byte[] changed = header.replace(from, to).getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(bytes.length - length + changed.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(changed.length)
                .put(changed)
                .put(bytes, 8 + length, bytes.length - 8 - length)
                .array();
    }

    private static void assertRefused(byte[] config, byte[] weights, String file, String reason) {
        assertThatThrownBy(() -> LoraAdapter.of(SOURCE, config, weights))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("mine")
                .hasMessageContaining(file)
                .hasMessageContaining(reason);
    }

    @Test
    void readsWhatPeftWrites() {
        LoraAdapter adapter = LoraAdapter.read(Goldens.adapter("llama-rank-stabilised"));
        assertThat(adapter.rank()).isEqualTo(8);
        assertThat(adapter.pairs()).containsOnlyKeys("blk.0.attn_q", "blk.0.attn_v", "blk.1.attn_q", "blk.1.attn_v");
        LoraAdapter.Pair query = adapter.pairs().get("blk.0.attn_q");
        assertThat(query.rank()).as("of rank_pattern").isEqualTo(3);
        assertThat(query.a()).hasSize(3 * 32);
        assertThat(query.b()).hasSize(3 * 64);
    }

    @Test
    void theHashCoversBothFiles() throws IOException {
        LoraAdapter adapter = LoraAdapter.read(Goldens.adapter("llama-all"));
        assertThat(LoraAdapter.of(SOURCE, config("llama-all"), weights("llama-all"))
                        .hash())
                .isEqualTo(adapter.hash());
        assertThat(LoraAdapter.of(SOURCE, config("llama-all", "lora_alpha", "17"), weights("llama-all"))
                        .hash())
                .isNotEqualTo(adapter.hash());
        byte[] changed = weights("llama-all");
        changed[changed.length - 1] ^= 1;
        assertThat(LoraAdapter.of(SOURCE, config("llama-all"), changed).hash()).isNotEqualTo(adapter.hash());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "peft_type | \"IA3\" | peft_type \"IA3\"",
                "peft_type | null | peft_type",
                "use_dora | true | DoRA",
                "bias | \"all\" | trained biases (bias \"all\")",
                "modules_to_save | [\"lm_head\"] | modules_to_save",
                "init_lora_weights | \"pissa\" | changes the base weights",
                "layer_replication | [[0, 1], [0, 2]] | layer_replication",
                "fan_in_fan_out | true | fan_in_fan_out",
                "lora_bias | true | lora_bias",
                "use_qalora | true | use_qalora",
                "some_later_variant | {\"x\": 1} | some_later_variant",
                "alpha_pattern | {\".*q_proj\": 3} | alpha_pattern: regular expressions",
                "alpha_pattern | {\"q_proj\": \"3\"} | alpha_pattern.q_proj is no number",
                "r | 0 | r is 0",
                "r | 2000 | r is 2000"
            })
    void unsupportedConfigurationsAreNamed(String field, String json, String reason) throws IOException {
        assertRefused(config("llama-all", field, json), weights("llama-all"), "adapter_config.json", reason);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0.self_attn.q_proj.lora_A | 0.self_attn.rotary_emb.lora_A | rotary_emb.lora_A.weight is not supported",
                "0.self_attn.q_proj.lora_A | 0.input_layernorm.lora_A | input_layernorm.lora_A.weight is not supported",
                "model.layers.0.self_attn.q_proj.lora_A.weight | lm_head.weight | lm_head.weight is not supported",
                "q_proj.lora_A.weight | q_proj.lora_magnitude_vector | lora_magnitude_vector is not supported",
                "model.layers.0.self_attn.q_proj.lora_A | model.layers.5.self_attn.q_proj.lora_A | one factor without",
                "[4,32] | [2,64] | the rank should be 4",
                "[4,32] | [128] | is no matrix",
                "F32 | I32 | has type I32"
            })
    void unsupportedTensorsAreNamed(String from, String to, String reason) throws IOException {
        assertRefused(config("llama-all"), weights("llama-all", from, to), "adapter_model.safetensors", reason);
    }

    @Test
    void aListedModuleWithoutWeightsIsNoticed() throws IOException {
        assertRefused(
                config("llama-one-layer", "target_modules", "[\"k_proj\", \"down_proj\", \"lm_head\"]"),
                weights("llama-one-layer"),
                "adapter_model.safetensors",
                "target module lm_head");
    }

    @Test
    void valuesThatAreNoNumbersAreRefused() throws IOException {
        byte[] bytes = weights("llama-all");
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putFloat(bytes.length - 4, Float.NaN);
        assertRefused(config("llama-all"), bytes, "adapter_model.safetensors", "no numbers");
    }

    @Test
    void everyTruncationAndOtherFilesAreRefused() throws IOException {
        byte[] config = config("llama-one-layer");
        byte[] bytes = weights("llama-one-layer");
        for (int length = 0; length < bytes.length; length += length < 200 ? 1 : 97) {
            assertRefused(config, Arrays.copyOf(bytes, length), "adapter_model.safetensors", "");
        }
        assertRefused("[".getBytes(StandardCharsets.UTF_8), bytes, "adapter_config.json", "no JSON");
        assertThatThrownBy(() -> LoraAdapter.read(SOURCE))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("no such file");
    }

    @Test
    void anAdapterThatNamesItsBaseRunsOnNoOther() throws IOException {
        LoraAdapter adapter = LoraAdapter.of(
                SOURCE,
                config("llama-all"),
                weights("llama-all", "\"format\":\"pt\"", "\"base_weights_hash\":\"sha256:01\""));
        adapter.checkBase("sha256:01");
        assertThatThrownBy(() -> adapter.checkBase("sha256:02"))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("was made for the base sha256:01");
    }

    @Test
    void anAdapterWhoseValuesTheModelsNumbersDoNotHoldIsRefused() {
        LoraAdapter adapter = LoraAdapter.read(Goldens.adapter("llama-all"));
        float most = 0;
        for (LoraAdapter.Pair pair : adapter.pairs().values()) {
            for (float[] factor : new float[][] {pair.a(), pair.b()}) {
                for (float value : factor) {
                    most = Math.max(most, Math.abs(value));
                }
            }
        }
        adapter.checkRange(most);
        float less = Math.nextDown(most);
        assertThatThrownBy(() -> adapter.checkRange(less))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("blk.")
                .hasMessageContaining("the model's numbers end at " + less);
    }
}
