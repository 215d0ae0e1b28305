package org.harnesslearning.llm.checkpoint;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Writes small checkpoints whose weights follow from a formula that the golden script shares. */
public final class TinyCheckpoints {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private TinyCheckpoints() {}

    /** Weight i of a tensor is the SplitMix64 value of (FNV-1a hash of its name) + i. */
    public static float[] weights(String name, int count) {
        long seed = 0xCBF29CE484222325L;
        for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
            seed = (seed ^ b & 0xFF) * 0x100000001B3L;
        }
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            long z = seed + i;
            z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
            z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
            z ^= z >>> 31;
            float uniform = (float) (z >>> 40) / (1 << 24) - 0.5f;
            values[i] = name.contains("norm") ? 1 + 0.5f * uniform : 0.5f * uniform;
        }
        return values;
    }

    /**
     * Writes the golden model {@code name} as a Hugging Face directory.
     *
     * @param shards number of safetensors files
     */
    public static Path huggingFace(Path parent, String name, int shards) throws IOException {
        JsonNode golden = Goldens.json("tiny").get(name);
        Path directory = Files.createDirectories(parent.resolve(name));
        Files.writeString(directory.resolve("config.json"), golden.get("config").toString());
        List<Map<String, byte[]>> parts = new ArrayList<>();
        for (int i = 0; i < shards; i++) {
            parts.add(new LinkedHashMap<>());
        }
        Map<String, List<Integer>> shapes = new LinkedHashMap<>();
        int next = 0;
        for (Map.Entry<String, JsonNode> tensor : golden.get("tensors").properties()) {
            List<Integer> shape = new ArrayList<>();
            tensor.getValue().forEach(dimension -> shape.add(dimension.asInt()));
            int count = shape.stream().reduce(1, (a, b) -> a * b);
            shapes.put(tensor.getKey(), shape);
            parts.get(next++ % shards)
                    .put(
                            tensor.getKey(),
                            encode(
                                    weights(tensor.getKey(), count),
                                    golden.get("dtype").asString()));
        }
        Map<String, String> index = new TreeMap<>();
        for (int i = 0; i < shards; i++) {
            String file = shards == 1 ? "model.safetensors" : "model-%05d-of-%05d.safetensors".formatted(i + 1, shards);
            parts.get(i).keySet().forEach(tensor -> index.put(tensor, file));
            safetensors(
                    directory.resolve(file),
                    parts.get(i),
                    shapes,
                    golden.get("dtype").asString());
        }
        if (shards > 1) {
            Files.writeString(
                    directory.resolve("model.safetensors.index.json"),
                    JSON.writeValueAsString(Map.of("weight_map", index)));
        }
        return directory;
    }

    /**
     * Writes the golden model {@code name} as a GGUF file with fp32 weights, laid out as llama.cpp's converter does: query
     * and key rows of Llama in the order for interleaved rotary embedding, the scaling of Llama 3 as factors.
     */
    public static Path gguf(Path parent, String name) throws IOException {
        JsonNode golden = Goldens.json("tiny").get(name);
        JsonNode config = golden.get("config");
        String family = config.get("model_type").asString();
        GgufWriter gguf = new GgufWriter()
                .put("general.architecture", family)
                .put("general.name", name)
                .put(family + ".block_count", config.get("num_hidden_layers").asLong())
                .put(
                        family + ".context_length",
                        config.get("max_position_embeddings").asLong())
                .put(family + ".embedding_length", config.get("hidden_size").asLong())
                .put(
                        family + ".feed_forward_length",
                        config.get("intermediate_size").asLong())
                .put(
                        family + ".attention.head_count",
                        config.get("num_attention_heads").asLong())
                .put(
                        family + ".attention.head_count_kv",
                        config.get("num_key_value_heads").asLong())
                .put(
                        family + ".attention.layer_norm_rms_epsilon",
                        config.get("rms_norm_eps").asDouble())
                .put(
                        family + ".rope.freq_base",
                        config.at("/rope_parameters/rope_theta").asDouble())
                .put("tokenizer.ggml.eos_token_id", config.get("eos_token_id").asLong());
        int heads = config.get("num_attention_heads").asInt();
        int headSize = config.path("head_dim").asInt(config.get("hidden_size").asInt() / heads);
        gguf.put(family + ".attention.key_length", (long) headSize);
        gguf.put(family + ".attention.value_length", (long) headSize);
        if (config.at("/rope_parameters/rope_type").asString().equals("linear")) {
            gguf.put(family + ".rope.scaling.type", "linear")
                    .put(
                            family + ".rope.scaling.factor",
                            config.at("/rope_parameters/factor").asDouble());
        }
        if (golden.has("rope_factors")) {
            gguf.floats("rope_freqs.weight", Goldens.floats(golden.get("rope_factors")), headSize / 2);
        }
        for (Map.Entry<String, JsonNode> tensor : golden.get("tensors").properties()) {
            long[] shape = new long[tensor.getValue().size()];
            int count = 1;
            for (int i = 0; i < shape.length; i++) {
                shape[i] = tensor.getValue().get(i).asLong();
                count *= (int) shape[i];
            }
            float[] values =
                    rounded(weights(tensor.getKey(), count), golden.get("dtype").asString());
            String stored = HuggingFaceReader.canonicalName(tensor.getKey());
            if (family.equals("llama") && stored.matches("blk\\.\\d+\\.attn_[qk]\\..*")) {
                values = interleaved(values, headSize, count / (int) shape[0]);
            }
            gguf.floats(stored, values, shape);
        }
        return gguf.write(Files.createDirectories(parent).resolve(name + ".gguf"));
    }

    /** Stores the rows of each head in the order 0, n/2, 1, n/2 + 1, … */
    private static float[] interleaved(float[] values, int headSize, int columns) {
        float[] result = new float[values.length];
        for (int row = 0; row < values.length / columns; row++) {
            int within = row % headSize;
            int from = row - within + within / 2 + within % 2 * (headSize / 2);
            System.arraycopy(values, from * columns, result, row * columns, columns);
        }
        return result;
    }

    private static float[] rounded(float[] values, String dtype) {
        Tensor tensor = new Tensor(
                "",
                TensorType.valueOf(dtype),
                List.of((long) values.length),
                MemorySegment.ofArray(encode(values, dtype)));
        return Dequantiser.all(tensor);
    }

    private static void safetensors(
            Path file, Map<String, byte[]> tensors, Map<String, List<Integer>> shapes, String dtype)
            throws IOException {
        Map<String, Object> header = new LinkedHashMap<>();
        header.put("__metadata__", Map.of("format", "pt"));
        int at = 0;
        for (Map.Entry<String, byte[]> tensor : tensors.entrySet()) {
            int end = at + tensor.getValue().length;
            header.put(
                    tensor.getKey(),
                    Map.of("dtype", dtype, "shape", shapes.get(tensor.getKey()), "data_offsets", List.of(at, end)));
            at = end;
        }
        byte[] json = JSON.writeValueAsBytes(header);
        ByteBuffer out = ByteBuffer.allocate(8 + json.length + at).order(ByteOrder.LITTLE_ENDIAN);
        out.putLong(json.length).put(json);
        tensors.values().forEach(out::put);
        Files.write(file, out.array());
    }

    private static byte[] encode(float[] values, String dtype) {
        ByteBuffer out = ByteBuffer.allocate(values.length * (dtype.equals("F32") ? 4 : 2))
                .order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            switch (dtype) {
                case "F32" -> out.putFloat(value);
                case "F16" -> out.putShort(Float.floatToFloat16(value));
                case "BF16" -> {
                    int bits = Float.floatToRawIntBits(value);
                    out.putShort((short) (bits + 0x7FFF + (bits >>> 16 & 1) >>> 16)); // round to nearest even
                }
                default -> throw new IllegalArgumentException(dtype);
            }
        }
        return out.array();
    }
}
