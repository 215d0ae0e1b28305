package org.harnesslearning.trainer.decoder;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.bytedeco.javacpp.PointerScope;
import org.harnesslearning.llm.checkpoint.Safetensors;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.harnesslearning.testing.SharedData;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The small random models that the golden scripts of llm-runtime and of this module know, written as checkpoints. */
public final class TinyModels {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Path RUNTIME_GOLDENS = SharedData.root().resolve("llm-runtime/src/test/resources/golden");

    private TinyModels() {}

    /** A golden file of llm-runtime. */
    public static JsonNode runtimeGolden(String file) {
        return json(RUNTIME_GOLDENS.resolve(file));
    }

    /** A folder of llm-runtime's goldens with an adapter that PEFT wrote. */
    public static Path runtimeAdapter(String name) {
        return RUNTIME_GOLDENS.resolve("adapters").resolve(name);
    }

    /** A golden file of this module. */
    public static JsonNode golden(String file) {
        return json(SharedData.root()
                .resolve("trainer-service/src/test/resources/golden")
                .resolve(file));
    }

    /** A golden file of llm-runtime with packed fp32 values. */
    public static float[] packed(String file) throws IOException {
        try (InputStream in = new GZIPInputStream(Files.newInputStream(RUNTIME_GOLDENS.resolve(file)))) {
            byte[] bytes = in.readAllBytes();
            float[] values = new float[bytes.length / 4];
            ByteBuffer.wrap(bytes)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .asFloatBuffer()
                    .get(values);
            return values;
        }
    }

    private static JsonNode json(Path file) {
        try {
            return JSON.readTree(Files.readAllBytes(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static int[] ints(JsonNode array) {
        int[] values = new int[array.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = array.get(i).asInt();
        }
        return values;
    }

    public static float[] floats(JsonNode array) {
        float[] values = new float[array.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = array.get(i).floatValue();
        }
        return values;
    }

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

    /** Writes the golden model {@code name} as a Hugging Face directory, in its golden number type, in two files. */
    public static Path write(Path parent, String name) {
        JsonNode golden = runtimeGolden("tiny.json").get(name);
        Path folder = parent.resolve(name);
        try {
            Files.createDirectories(folder);
            Files.writeString(
                    folder.resolve("config.json"), golden.get("config").toString());
            TensorType type = TensorType.valueOf(golden.get("dtype").asString());
            List<List<Tensor>> files = List.of(new ArrayList<>(), new ArrayList<>());
            StringBuilder index = new StringBuilder();
            int next = 0;
            for (Map.Entry<String, JsonNode> entry : golden.get("tensors").properties()) {
                List<Long> shape = new ArrayList<>();
                entry.getValue().forEach(dimension -> shape.add(dimension.asLong()));
                int count = (int) shape.stream().mapToLong(Long::longValue).reduce(1, (a, b) -> a * b);
                int file = next++ % 2;
                files.get(file)
                        .add(new Tensor(entry.getKey(), type, shape, encode(weights(entry.getKey(), count), type)));
                index.append(index.isEmpty() ? "" : ",")
                        .append("\"%s\":\"part-%d.safetensors\"".formatted(entry.getKey(), file));
            }
            for (int file = 0; file < 2; file++) {
                write(folder.resolve("part-" + file + ".safetensors"), files.get(file));
            }
            Files.writeString(
                    folder.resolve("model.safetensors.index.json"), "{\"metadata\":{},\"weight_map\":{" + index + "}}");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return folder;
    }

    /**
     * The same with a tokenizer, one token for each of 94 characters, and a chat template, so that whole runs can train it:
     * token 94 begins a turn, token 95 ends it.
     */
    public static Path writeWithTokenizer(Path parent, String name) {
        Path folder = write(parent, name);
        try {
            Map<String, Integer> vocabulary = new LinkedHashMap<>();
            vocabulary.put("\u010a", 0); // the line break, as byte-level vocabularies write it
            vocabulary.put("\u0120", 1); // the blank
            for (char c = '!'; vocabulary.size() < 94; c++) {
                vocabulary.put(String.valueOf(c), vocabulary.size());
            }
            List<Map<String, Object>> control = new ArrayList<>();
            for (String token : List.of("<|turn|>", "<|end|>")) {
                control.add(Map.of(
                        "id",
                        94 + control.size(),
                        "content",
                        token,
                        "special",
                        true,
                        "normalized",
                        false,
                        "lstrip",
                        false,
                        "rstrip",
                        false,
                        "single_word",
                        false));
            }
            Map<String, Object> byteLevel =
                    Map.of("type", "ByteLevel", "add_prefix_space", false, "trim_offsets", true, "use_regex", true);
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("version", "1.0");
            document.put("added_tokens", control);
            document.put("normalizer", null);
            document.put("pre_tokenizer", byteLevel);
            document.put("post_processor", null);
            document.put("decoder", byteLevel);
            document.put("model", Map.of("type", "BPE", "vocab", vocabulary, "merges", List.of()));
            Files.writeString(folder.resolve("tokenizer.json"), JSON.writeValueAsString(document));
            Files.writeString(
                    folder.resolve("tokenizer_config.json"),
                    JSON.writeValueAsString(Map.of(
                            "eos_token",
                            "<|end|>",
                            "chat_template",
                            "{% for message in messages %}<|turn|>{{ message['content'] }}<|end|>{% endfor %}"
                                    + "{% if add_generation_prompt %}<|turn|>{% endif %}")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return folder;
    }

    static void write(Path file, List<Tensor> tensors) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            Safetensors.write(channel, Map.of("format", "pt"), tensors);
        }
    }

    static MemorySegment encode(float[] values, TensorType type) {
        if (type == TensorType.F32) {
            MemorySegment bytes = MemorySegment.ofArray(new byte[4 * values.length]);
            MemorySegment.copy(
                    values,
                    0,
                    bytes,
                    ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN),
                    0,
                    values.length);
            return bytes;
        }
        short[] halves = new short[values.length];
        for (int i = 0; i < values.length; i++) {
            int bits = Float.floatToRawIntBits(values[i]);
            halves[i] = type == TensorType.F16
                    ? Float.floatToFloat16(values[i])
                    : (short) (bits + 0x7FFF + (bits >>> 16 & 1) >>> 16); // to the nearest even
        }
        MemorySegment bytes = MemorySegment.ofArray(new byte[2 * values.length]);
        MemorySegment.copy(
                halves,
                0,
                bytes,
                ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN),
                0,
                halves.length);
        return bytes;
    }

    /** Sequences of different lengths, from a formula. */
    public static List<Sequence> sequences(int vocabulary, int... lengths) {
        List<Sequence> sequences = new ArrayList<>();
        for (int i = 0; i < lengths.length; i += 2) {
            int[] prompt = new int[lengths[i]];
            int[] completion = new int[lengths[i + 1]];
            for (int at = 0; at < prompt.length; at++) {
                prompt[at] = (7 * at * at + 3 * at + 11 * i + 2) % vocabulary;
            }
            for (int at = 0; at < completion.length; at++) {
                completion[at] = (5 * at * at + at + 17 * i + 1) % vocabulary;
            }
            sequences.add(new Sequence(prompt, completion));
        }
        return sequences;
    }

    static double maxDifference(float[] first, float[] second) {
        if (first.length != second.length) {
            throw new IllegalArgumentException(first.length + " and " + second.length + " values");
        }
        double most = 0;
        for (int i = 0; i < first.length; i++) {
            most = Math.max(most, Math.abs(first[i] - second[i]));
        }
        return most;
    }

    static double maxDifference(List<float[]> first, List<float[]> second) {
        double most = 0;
        for (int i = 0; i < Math.max(first.size(), second.size()); i++) {
            most = Math.max(most, maxDifference(first.get(i), second.get(i)));
        }
        return most;
    }

    /** Fills an adapter's weights from the formula of the golden scripts: each factor's own weights, scaled. */
    public static void fillByFormula(TrainableDecoder decoder, float scale) {
        for (AdapterParameter parameter : decoder.parameters()) {
            float[] values = weights(parameter.name(), (int) parameter.value().numel());
            for (int i = 0; i < values.length; i++) {
                values[i] *= scale;
            }
            set(parameter.value(), values);
        }
    }

    /** Replaces a tensor's values. */
    @SuppressWarnings("try")
    public static void set(org.bytedeco.pytorch.Tensor target, float[] values) {
        try (PointerScope scope = new PointerScope()) {
            target.copy_(org.bytedeco.pytorch.Tensor.create(values).view_as(target));
        }
    }

    /** A tensor's values. */
    @SuppressWarnings("try")
    public static float[] get(org.bytedeco.pytorch.Tensor tensor) {
        try (PointerScope scope = new PointerScope()) {
            return Torch.download(tensor);
        }
    }

    /**
     * The loss of the golden script: over all completion tokens k of the batch the mean of
     * sin(k + 1) · logprob + 0.3 · cos(k) · entropy.
     */
    public static Objective waves(List<Sequence> batch) {
        int[] starts = new int[batch.size() + 1];
        for (int i = 0; i < batch.size(); i++) {
            starts[i + 1] = starts[i] + batch.get(i).completion().length;
        }
        int all = starts[batch.size()];
        return (first, end, logprobs, entropies) -> {
            int count = starts[end] - starts[first];
            float[] ofLogprobs = new float[count];
            float[] ofEntropies = new float[count];
            for (int i = 0; i < count; i++) {
                int k = starts[first] + i;
                ofLogprobs[i] = (float) Math.sin(k + 1) / all;
                ofEntropies[i] = 0.3f * (float) Math.cos(k) / all;
            }
            return logprobs.mul(like(logprobs, ofLogprobs))
                    .add(entropies.mul(like(entropies, ofEntropies)))
                    .sum();
        };
    }

    private static org.bytedeco.pytorch.Tensor like(org.bytedeco.pytorch.Tensor tensor, float[] values) {
        return org.bytedeco.pytorch.Tensor.create(values).to(tensor.device(), tensor.scalar_type());
    }
}
