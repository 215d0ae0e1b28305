package org.harnesslearning.benchmarks;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.StringJoiner;
import java.util.stream.Stream;

/**
 * Writes a Llama-shaped checkpoint with random bfloat16 weights, for measurements of speed.
 *
 * <p>Arguments: directory, shape ({@code 4b} or {@code 135m}). The directory gets {@code config.json} and
 * {@code model.safetensors}; there is no tokenizer.
 */
public final class RandomCheckpoint {

    private static final PrintStream OUT = System.out;
    private static final int PIECE = 8 << 20;
    private static final float SPREAD = 0.02f;

    private RandomCheckpoint() {}

    private record Shape(
            int layers,
            int hidden,
            int heads,
            int keyValueHeads,
            int head,
            int feedForward,
            int vocabulary,
            boolean tied) {

        static Shape of(String name) {
            return switch (name) {
                case "4b" -> new Shape(36, 2560, 32, 8, 128, 9728, 151_936, false);
                case "135m" -> new Shape(30, 576, 9, 3, 64, 1536, 49_152, true);
                case "tiny" -> new Shape(2, 64, 4, 2, 16, 128, 1024, true);
                default -> throw new IllegalArgumentException("no shape " + name);
            };
        }

        Map<String, long[]> tensors() {
            Map<String, long[]> tensors = new LinkedHashMap<>();
            tensors.put("model.embed_tokens.weight", new long[] {vocabulary, hidden});
            for (int layer = 0; layer < layers; layer++) {
                String block = "model.layers." + layer + ".";
                tensors.put(block + "input_layernorm.weight", new long[] {hidden});
                tensors.put(block + "self_attn.q_proj.weight", new long[] {(long) heads * head, hidden});
                tensors.put(block + "self_attn.k_proj.weight", new long[] {(long) keyValueHeads * head, hidden});
                tensors.put(block + "self_attn.v_proj.weight", new long[] {(long) keyValueHeads * head, hidden});
                tensors.put(block + "self_attn.o_proj.weight", new long[] {hidden, (long) heads * head});
                tensors.put(block + "post_attention_layernorm.weight", new long[] {hidden});
                tensors.put(block + "mlp.gate_proj.weight", new long[] {feedForward, hidden});
                tensors.put(block + "mlp.up_proj.weight", new long[] {feedForward, hidden});
                tensors.put(block + "mlp.down_proj.weight", new long[] {hidden, feedForward});
            }
            tensors.put("model.norm.weight", new long[] {hidden});
            if (!tied) {
                tensors.put("lm_head.weight", new long[] {vocabulary, hidden});
            }
            return tensors;
        }

        String config() {
            return """
                {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
                 "num_hidden_layers": %d, "hidden_size": %d, "num_attention_heads": %d,
                 "num_key_value_heads": %d, "head_dim": %d, "intermediate_size": %d, "vocab_size": %d,
                 "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 100000.0,
                 "tie_word_embeddings": %s, "bos_token_id": 1, "eos_token_id": 2, "dtype": "bfloat16"}
                """.formatted(layers, hidden, heads, keyValueHeads, head, feedForward, vocabulary, tied);
        }
    }

    /** Some weights of one tensor. */
    private record Piece(long at, int bytes, boolean norm, long seed) {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 2) {
            OUT.println("usage: RandomCheckpoint DIRECTORY 4b|135m");
            return;
        }
        Path directory = Files.createDirectories(Path.of(arguments[0]));
        Shape shape = Shape.of(arguments[1]);
        Files.writeString(directory.resolve("config.json"), shape.config());
        StringJoiner header = new StringJoiner(",", "{", "}").add("\"__metadata__\":{\"format\":\"pt\"}");
        Stream.Builder<Piece> pieces = Stream.builder();
        long at = 0;
        long seed = 1;
        for (Map.Entry<String, long[]> tensor : shape.tensors().entrySet()) {
            long bytes = 2;
            StringJoiner dimensions = new StringJoiner(",");
            for (long dimension : tensor.getValue()) {
                bytes *= dimension;
                dimensions.add(Long.toString(dimension));
            }
            header.add("\"%s\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%d,%d]}"
                    .formatted(tensor.getKey(), dimensions, at, at + bytes));
            for (long from = 0; from < bytes; from += PIECE) {
                pieces.add(new Piece(
                        at + from, (int) Math.min(PIECE, bytes - from), tensor.getValue().length == 1, seed++));
            }
            at += bytes;
        }
        byte[] json = header.toString().getBytes(StandardCharsets.UTF_8);
        Path file = directory.resolve("model.safetensors");
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            ByteBuffer start = ByteBuffer.allocate(8 + json.length)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(json.length)
                    .put(json);
            channel.write(start.flip(), 0);
            long data = 8L + json.length;
            List<Piece> all = pieces.build().toList();
            all.parallelStream().forEach(piece -> write(channel, data, piece));
        }
        OUT.printf("%s: %.2f GB%n", file, at / 1e9);
    }

    private static void write(FileChannel channel, long data, Piece piece) {
        ByteBuffer bytes = ByteBuffer.allocate(piece.bytes()).order(ByteOrder.LITTLE_ENDIAN);
        SplittableRandom random = new SplittableRandom(piece.seed());
        while (bytes.hasRemaining()) {
            long bits = random.nextLong();
            // The sum of two uniform numbers, four bytes of randomness a weight.
            for (int i = 0; i < 2 && bytes.hasRemaining(); i++, bits >>>= 32) {
                float x = ((bits & 0xFFFF) + (bits >>> 16 & 0xFFFF) - 65_535) / 65_536f * 2.45f * SPREAD;
                bytes.putShort((short) (Float.floatToRawIntBits(piece.norm() ? 1 : x) >>> 16));
            }
        }
        bytes.flip();
        try {
            long at = data + piece.at();
            while (bytes.hasRemaining()) {
                at += channel.write(bytes, at);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
