package org.harnesslearning.trainer.distributed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.trainer.decoder.Sequence;

/** A random checkpoint of the Llama family with 64 tokens, and random sequences for it. */
final class TinyLlama {
    private static final int HIDDEN = 32;
    private static final int VOCABULARY = 64;

    private TinyLlama() {}

    static Path write(Path folder, long seed) throws IOException {
        Files.createDirectories(folder);
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("model_type", "llama");
        config.put("architectures", List.of("LlamaForCausalLM"));
        config.put("hidden_size", HIDDEN);
        config.put("intermediate_size", 64);
        config.put("num_hidden_layers", 2);
        config.put("num_attention_heads", 4);
        config.put("num_key_value_heads", 2);
        config.put("head_dim", 8);
        config.put("vocab_size", VOCABULARY);
        config.put("max_position_embeddings", 256);
        config.put("rms_norm_eps", 1e-5);
        config.put("rope_theta", 10_000.0);
        config.put("tie_word_embeddings", true);
        config.put("torch_dtype", "float32");
        config.put("eos_token_id", 0);
        Files.writeString(folder.resolve("config.json"), Json.write(config));
        Map<String, int[]> shapes = new LinkedHashMap<>();
        shapes.put("model.embed_tokens.weight", new int[] {VOCABULARY, HIDDEN});
        for (int layer = 0; layer < 2; layer++) {
            String prefix = "model.layers." + layer + ".";
            shapes.put(prefix + "input_layernorm.weight", new int[] {HIDDEN});
            shapes.put(prefix + "self_attn.q_proj.weight", new int[] {HIDDEN, HIDDEN});
            shapes.put(prefix + "self_attn.k_proj.weight", new int[] {16, HIDDEN});
            shapes.put(prefix + "self_attn.v_proj.weight", new int[] {16, HIDDEN});
            shapes.put(prefix + "self_attn.o_proj.weight", new int[] {HIDDEN, HIDDEN});
            shapes.put(prefix + "post_attention_layernorm.weight", new int[] {HIDDEN});
            shapes.put(prefix + "mlp.gate_proj.weight", new int[] {64, HIDDEN});
            shapes.put(prefix + "mlp.up_proj.weight", new int[] {64, HIDDEN});
            shapes.put(prefix + "mlp.down_proj.weight", new int[] {HIDDEN, 64});
        }
        shapes.put("model.norm.weight", new int[] {HIDDEN});
        SplittableRandom random = new SplittableRandom(seed);
        List<ByteBuffer> parts = new ArrayList<>();
        Map<String, Object> header = new LinkedHashMap<>();
        int at = 0;
        for (Map.Entry<String, int[]> tensor : shapes.entrySet()) {
            int count = 1;
            for (int size : tensor.getValue()) {
                count *= size;
            }
            ByteBuffer part = ByteBuffer.allocate(count * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            for (int i = 0; i < count; i++) {
                part.putFloat(tensor.getKey().contains("norm") ? 1 : (float) (0.3 * random.nextGaussian()));
            }
            parts.add(part.flip());
            int end = at + part.limit();
            header.put(
                    tensor.getKey(),
                    Map.of("dtype", "F32", "shape", tensor.getValue(), "data_offsets", List.of(at, end)));
            at = end;
        }
        byte[] json = Json.mapper().writeValueAsBytes(header);
        ByteBuffer file = ByteBuffer.allocate(Long.BYTES + json.length + at).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(json.length).put(json);
        parts.forEach(file::put);
        Files.write(folder.resolve("model.safetensors"), file.array());
        return folder;
    }

    /** Sequences of unequal lengths. */
    static List<Sequence> batch(int count, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        List<Sequence> batch = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            batch.add(new Sequence(
                    random.ints(3 + random.nextInt(20), 0, VOCABULARY).toArray(),
                    random.ints(2 + random.nextInt(12), 0, VOCABULARY).toArray()));
        }
        return batch;
    }
}
