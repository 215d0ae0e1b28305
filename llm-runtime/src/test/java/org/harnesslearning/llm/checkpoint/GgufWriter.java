package org.harnesslearning.llm.checkpoint;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Writes GGUF files for tests. */
public final class GgufWriter {

    private final Map<String, Object> metadata = new LinkedHashMap<>();
    private final List<Entry> tensors = new ArrayList<>();
    private int version = 3;

    private record Entry(String name, int type, long[] shape, byte[] data) {}

    public GgufWriter version(int value) {
        version = value;
        return this;
    }

    /** @param value a Long (uint32), Double (float32), String, Boolean, or list of Strings or of Longs (int32) */
    public GgufWriter put(String key, Object value) {
        metadata.put(key, value);
        return this;
    }

    /** @param shape slowest dimension first */
    public GgufWriter tensor(String name, TensorType type, byte[] data, long... shape) {
        return tensor(name, type.id(), data, shape);
    }

    public GgufWriter tensor(String name, int type, byte[] data, long... shape) {
        tensors.removeIf(entry -> entry.name().equals(name));
        tensors.add(new Entry(name, type, shape, data));
        return this;
    }

    public GgufWriter without(String name) {
        tensors.removeIf(entry -> entry.name().equals(name));
        metadata.remove(name);
        return this;
    }

    public GgufWriter floats(String name, float[] values, long... shape) {
        ByteBuffer data = ByteBuffer.allocate(values.length * 4).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            data.putFloat(value);
        }
        return tensor(name, TensorType.F32, data.array(), shape);
    }

    public byte[] toBytes() {
        Out out = new Out();
        out.bytes("GGUF".getBytes(StandardCharsets.UTF_8))
                .u32(version)
                .u64(tensors.size())
                .u64(metadata.size());
        metadata.forEach((key, value) -> {
            out.text(key);
            out.value(value);
        });
        long offset = 0;
        for (Entry tensor : tensors) {
            out.text(tensor.name()).u32(tensor.shape().length);
            for (int i = tensor.shape().length - 1; i >= 0; i--) {
                out.u64(tensor.shape()[i]);
            }
            out.u32(tensor.type()).u64(offset);
            offset = (offset + tensor.data().length + 31) / 32 * 32;
        }
        for (Entry tensor : tensors) {
            out.align();
            out.bytes(tensor.data());
        }
        return out.bytes.toByteArray();
    }

    public Path write(Path file) throws IOException {
        return Files.write(file, toBytes());
    }

    /** A decoder with one layer and random weights, matrices of the given type. */
    public static GgufWriter decoder(String architecture, TensorType type, int hidden, long seed) {
        Random random = new Random(seed);
        int vocabulary = 64;
        int keyValues = hidden / 2;
        GgufWriter gguf = new GgufWriter()
                .put("general.architecture", architecture)
                .put("general.name", "tiny " + architecture)
                .put(architecture + ".block_count", 1L)
                .put(architecture + ".context_length", 64L)
                .put(architecture + ".embedding_length", (long) hidden)
                .put(architecture + ".feed_forward_length", (long) hidden)
                .put(architecture + ".attention.head_count", 4L)
                .put(architecture + ".attention.head_count_kv", 2L)
                .put(architecture + ".attention.layer_norm_rms_epsilon", 1e-5)
                .put(architecture + ".rope.freq_base", 10000.0)
                .put("tokenizer.ggml.eos_token_id", 2L)
                .put("tokenizer.ggml.tokens", List.of("a", "<|im_end|>", "</s>", "<|endoftext|>"))
                .put("tokenizer.ggml.token_type", List.of(1L, 3L, 3L, 1L));
        float[] ones = new float[hidden];
        java.util.Arrays.fill(ones, 1);
        gguf.tensor("token_embd.weight", type, blocks(type, vocabulary, hidden, random), vocabulary, hidden)
                .floats("output_norm.weight", ones, hidden)
                .floats("blk.0.attn_norm.weight", ones, hidden)
                .floats("blk.0.ffn_norm.weight", ones, hidden);
        for (String matrix : List.of("attn_q", "attn_output", "ffn_gate", "ffn_up", "ffn_down")) {
            gguf.tensor("blk.0." + matrix + ".weight", type, blocks(type, hidden, hidden, random), hidden, hidden);
        }
        for (String matrix : List.of("attn_k", "attn_v")) {
            gguf.tensor(
                    "blk.0." + matrix + ".weight", type, blocks(type, keyValues, hidden, random), keyValues, hidden);
        }
        return gguf;
    }

    /** Random blocks with scales that give weights of about ±0.1. */
    public static byte[] blocks(TensorType type, int rows, int columns, Random random) {
        int count = rows * columns / type.blockElements();
        ByteBuffer out = ByteBuffer.allocate(count * type.blockBytes()).order(ByteOrder.LITTLE_ENDIAN);
        byte[] block = new byte[type.blockBytes()];
        for (int i = 0; i < count; i++) {
            random.nextBytes(block);
            ByteBuffer view = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
            float unit = 0.5f + random.nextFloat();
            switch (type) {
                case F32 -> view.putFloat(0, (random.nextFloat() - 0.5f) * 0.2f);
                case F16 -> view.putShort(0, Float.floatToFloat16((random.nextFloat() - 0.5f) * 0.2f));
                case BF16 ->
                    view.putShort(0, (short) (Float.floatToIntBits((random.nextFloat() - 0.5f) * 0.2f) >>> 16));
                case Q4_0 -> view.putShort(0, Float.floatToFloat16(0.012f * unit));
                case Q5_0 -> view.putShort(0, Float.floatToFloat16(0.006f * unit));
                case Q8_0 -> view.putShort(0, Float.floatToFloat16(0.0008f * unit));
                case Q4_1 -> {
                    view.putShort(0, Float.floatToFloat16(0.012f * unit));
                    view.putShort(2, Float.floatToFloat16(-0.09f * unit));
                }
                case Q5_1 -> {
                    view.putShort(0, Float.floatToFloat16(0.006f * unit));
                    view.putShort(2, Float.floatToFloat16(-0.09f * unit));
                }
                case Q4_K -> {
                    view.putShort(0, Float.floatToFloat16(0.0004f * unit));
                    view.putShort(2, Float.floatToFloat16(0.003f * unit));
                }
                case Q5_K -> {
                    view.putShort(0, Float.floatToFloat16(0.0002f * unit));
                    view.putShort(2, Float.floatToFloat16(0.003f * unit));
                }
                case Q6_K -> view.putShort(208, Float.floatToFloat16(0.00005f * unit));
            }
            out.put(block);
        }
        return out.array();
    }

    private static final class Out {

        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Out bytes(byte[] value) {
            bytes.writeBytes(value);
            return this;
        }

        Out u32(long value) {
            return bytes(ByteBuffer.allocate(4)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt((int) value)
                    .array());
        }

        Out u64(long value) {
            return bytes(ByteBuffer.allocate(8)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(value)
                    .array());
        }

        Out text(String value) {
            byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
            return u64(utf8.length).bytes(utf8);
        }

        void value(Object value) {
            switch (value) {
                case Long number -> u32(4).u32(number);
                case Double real -> u32(6).u32(Float.floatToIntBits(real.floatValue()));
                case Boolean flag -> u32(7).bytes(new byte[] {(byte) (flag ? 1 : 0)});
                case String text -> u32(8).text(text);
                case List<?> list -> {
                    boolean texts = list.getFirst() instanceof String;
                    u32(9).u32(texts ? 8 : 5).u64(list.size());
                    list.forEach(item -> {
                        if (item instanceof String text) {
                            text(text);
                        } else {
                            u32((Long) item);
                        }
                    });
                }
                default -> throw new IllegalArgumentException(value.toString());
            }
        }

        void align() {
            while (bytes.size() % 32 != 0) {
                bytes.write(0);
            }
        }
    }
}
