package org.harnesslearning.standalone.smoke;

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

/**
 * A random decoder of the Llama family, about half a million weights, as a Hugging Face folder. It knows nothing, but it
 * is served, trained and served again as any other, in seconds on one core.
 *
 * <p>Its embeddings are larger than usual, and they are also its output matrix: with few dimensions, an adapter could
 * otherwise not make one token much likelier than all others. Its chat template keeps only the first characters of the
 * user's text, which are alike in all prompts: what it learns on one task and report, it then does on every other.
 */
public final class TinyCheckpoint {
    private static final int HIDDEN = 128;
    private static final int LAYERS = 2;
    private static final int HEADS = 4;
    private static final int KEY_HEADS = 2;
    private static final int INNER = 256;
    private static final int CONTEXT = 4096;
    private static final int MOST_MERGES = 400;
    private static final double EMBEDDING = 0.7;
    private static final int KEPT = 5;
    private static final List<String> CONTROL = List.of("<|user|>", "<|assistant|>", "<|end|>");
    private static final String TEMPLATE = "{% for message in messages %}"
            + "{% if message['role'] == 'user' %}<|user|>{{ message['content'][:" + KEPT + "] }}"
            + "{% elif message['role'] == 'assistant' %}<|assistant|>{{ message['content'] }}<|end|>{% endif %}"
            + "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

    private TinyCheckpoint() {}

    /**
     * Writes the folder.
     *
     * @param text what its tokens are learned from
     */
    public static void write(Path folder, String text, long seed) throws IOException {
        Files.createDirectories(folder);
        BytePairs pairs = BytePairs.learn(text, MOST_MERGES);
        int words = pairs.tokens().size();
        int end = words + CONTROL.indexOf("<|end|>");
        Files.writeString(folder.resolve("tokenizer.json"), Json.write(tokenizer(pairs)));
        Files.writeString(
                folder.resolve("tokenizer_config.json"),
                Json.write(Map.of("eos_token", "<|end|>", "chat_template", TEMPLATE)));
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("architectures", List.of("LlamaForCausalLM"));
        config.put("model_type", "llama");
        config.put("hidden_size", HIDDEN);
        config.put("intermediate_size", INNER);
        config.put("num_hidden_layers", LAYERS);
        config.put("num_attention_heads", HEADS);
        config.put("num_key_value_heads", KEY_HEADS);
        config.put("head_dim", HIDDEN / HEADS);
        config.put("vocab_size", words + CONTROL.size());
        config.put("max_position_embeddings", CONTEXT);
        config.put("rms_norm_eps", 1e-5);
        config.put("rope_theta", 10_000.0);
        config.put("hidden_act", "silu");
        config.put("tie_word_embeddings", true);
        config.put("attention_bias", false);
        config.put("mlp_bias", false);
        config.put("torch_dtype", "float32");
        config.put("eos_token_id", end);
        Files.writeString(folder.resolve("config.json"), Json.write(config));
        Files.write(folder.resolve("model.safetensors"), weights(words + CONTROL.size(), seed));
    }

    private static Map<String, Object> tokenizer(BytePairs pairs) {
        Map<String, Object> vocabulary = new LinkedHashMap<>();
        for (String token : pairs.tokens()) {
            vocabulary.put(token, vocabulary.size());
        }
        List<Map<String, Object>> added = new ArrayList<>();
        for (String token : CONTROL) {
            Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("id", vocabulary.size() + added.size());
            entry.put("content", token);
            for (String no : List.of("single_word", "lstrip", "rstrip", "normalized")) {
                entry.put(no, false);
            }
            entry.put("special", true);
            added.add(entry);
        }
        Map<String, Object> byteLevel =
                Map.of("type", "ByteLevel", "add_prefix_space", false, "trim_offsets", true, "use_regex", true);
        Map<String, Object> model = new LinkedHashMap<>();
        model.put("type", "BPE");
        model.put("dropout", null);
        model.put("unk_token", null);
        model.put("continuing_subword_prefix", null);
        model.put("end_of_word_suffix", null);
        model.put("fuse_unk", false);
        model.put("byte_fallback", false);
        model.put("vocab", vocabulary);
        model.put("merges", pairs.merges());
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("version", "1.0");
        document.put("truncation", null);
        document.put("padding", null);
        document.put("added_tokens", added);
        document.put("normalizer", null);
        document.put("pre_tokenizer", byteLevel);
        document.put("post_processor", null);
        document.put("decoder", byteLevel);
        document.put("model", model);
        return document;
    }

    private static byte[] weights(int vocabulary, long seed) {
        Map<String, int[]> shapes = new LinkedHashMap<>();
        shapes.put("model.embed_tokens.weight", new int[] {vocabulary, HIDDEN});
        for (int layer = 0; layer < LAYERS; layer++) {
            String prefix = "model.layers." + layer + ".";
            int keys = HIDDEN / HEADS * KEY_HEADS;
            shapes.put(prefix + "input_layernorm.weight", new int[] {HIDDEN});
            shapes.put(prefix + "self_attn.q_proj.weight", new int[] {HIDDEN, HIDDEN});
            shapes.put(prefix + "self_attn.k_proj.weight", new int[] {keys, HIDDEN});
            shapes.put(prefix + "self_attn.v_proj.weight", new int[] {keys, HIDDEN});
            shapes.put(prefix + "self_attn.o_proj.weight", new int[] {HIDDEN, HIDDEN});
            shapes.put(prefix + "post_attention_layernorm.weight", new int[] {HIDDEN});
            shapes.put(prefix + "mlp.gate_proj.weight", new int[] {INNER, HIDDEN});
            shapes.put(prefix + "mlp.up_proj.weight", new int[] {INNER, HIDDEN});
            shapes.put(prefix + "mlp.down_proj.weight", new int[] {HIDDEN, INNER});
        }
        shapes.put("model.norm.weight", new int[] {HIDDEN});

        Map<String, Object> header = new LinkedHashMap<>();
        int bytes = 0;
        for (Map.Entry<String, int[]> tensor : shapes.entrySet()) {
            int length = count(tensor.getValue()) * Float.BYTES;
            header.put(
                    tensor.getKey(),
                    Map.of("dtype", "F32", "shape", tensor.getValue(), "data_offsets", List.of(bytes, bytes + length)));
            bytes += length;
        }
        byte[] json = Json.mapper().writeValueAsBytes(header);
        ByteBuffer out = ByteBuffer.allocate(Long.BYTES + json.length + bytes).order(ByteOrder.LITTLE_ENDIAN);
        out.putLong(json.length).put(json);
        SplittableRandom random = new SplittableRandom(seed);
        shapes.forEach((name, shape) -> {
            boolean norm = name.contains("norm");
            double deviation = name.contains("embed") ? EMBEDDING : 1 / Math.sqrt(shape[shape.length - 1]);
            for (int i = 0; i < count(shape); i++) {
                out.putFloat(norm ? 1 : (float) (deviation * random.nextGaussian()));
            }
        });
        return out.array();
    }

    private static int count(int[] shape) {
        int count = 1;
        for (int size : shape) {
            count *= size;
        }
        return count;
    }
}
