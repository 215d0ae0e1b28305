package org.harnesslearning.llm.checkpoint;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Turns stored weights into fp32, block layouts as in ggml's {@code ggml-quants.c}. */
public final class Dequantiser {

    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private Dequantiser() {}

    /** Writes row {@code row} of a matrix (or the whole of a vector, as row 0) to {@code target} from {@code offset}. */
    public static void row(Tensor tensor, long row, float[] target, int offset) {
        int columns = Math.toIntExact(tensor.shape().getLast());
        TensorType type = tensor.type();
        long rowBytes = (long) columns / type.blockElements() * type.blockBytes();
        long at = row * rowBytes;
        MemorySegment data = tensor.data();
        for (int done = 0; done < columns; done += type.blockElements(), at += type.blockBytes()) {
            block(type, data, at, target, offset + done);
        }
    }

    /** All weights, row-major. */
    public static float[] all(Tensor tensor) {
        int columns = Math.toIntExact(tensor.shape().getLast());
        float[] target = new float[Math.toIntExact(tensor.elements())];
        for (int row = 0; row < target.length / columns; row++) {
            row(tensor, row, target, row * columns);
        }
        return target;
    }

    private static void block(TensorType type, MemorySegment data, long at, float[] target, int offset) {
        switch (type) {
            case F32 -> target[offset] = data.get(FLOAT, at);
            case F16 -> target[offset] = half(data, at);
            case BF16 -> target[offset] = Float.intBitsToFloat(data.get(SHORT, at) << 16);
            case Q4_0 -> nibbles(data, at + 2, half(data, at), -8 * half(data, at), target, offset);
            case Q4_1 -> nibbles(data, at + 4, half(data, at), half(data, at + 2), target, offset);
            case Q5_0 ->
                fives(data, at + 6, data.get(INT, at + 2), half(data, at), -16 * half(data, at), target, offset);
            case Q5_1 -> fives(data, at + 8, data.get(INT, at + 4), half(data, at), half(data, at + 2), target, offset);
            case Q8_0 -> {
                float scale = half(data, at);
                for (int i = 0; i < 32; i++) {
                    target[offset + i] = data.get(ValueLayout.JAVA_BYTE, at + 2 + i) * scale;
                }
            }
            case Q4_K -> superBlock(data, at, at + 16, -1, target, offset);
            case Q5_K -> superBlock(data, at, at + 48, at + 16, target, offset);
            case Q6_K -> sixes(data, at, target, offset);
        }
    }

    private static void nibbles(MemorySegment data, long at, float scale, float minimum, float[] target, int offset) {
        for (int i = 0; i < 16; i++) {
            int pair = data.get(ValueLayout.JAVA_BYTE, at + i) & 0xFF;
            target[offset + i] = (pair & 15) * scale + minimum;
            target[offset + 16 + i] = (pair >>> 4) * scale + minimum;
        }
    }

    private static void fives(
            MemorySegment data, long at, int high, float scale, float minimum, float[] target, int offset) {
        for (int i = 0; i < 16; i++) {
            int pair = data.get(ValueLayout.JAVA_BYTE, at + i) & 0xFF;
            target[offset + i] = (pair & 15 | (high >>> i & 1) << 4) * scale + minimum;
            target[offset + 16 + i] = (pair >>> 4 | (high >>> (16 + i) & 1) << 4) * scale + minimum;
        }
    }

    /** Q4_K and Q5_K: 8 sub-blocks of 32 with 6-bit scales and minimums; {@code highs} &lt; 0 means no fifth bits. */
    private static void superBlock(MemorySegment data, long at, long lows, long highs, float[] target, int offset) {
        float scale = half(data, at);
        float minimum = half(data, at + 2);
        for (int sub = 0; sub < 8; sub++) {
            float d = scale * subScale(data, at + 4, sub);
            float m = minimum * subMinimum(data, at + 4, sub);
            for (int i = 0; i < 32; i++) {
                int pair = data.get(ValueLayout.JAVA_BYTE, lows + sub / 2 * 32 + i) & 0xFF;
                int q = (sub & 1) == 0 ? pair & 15 : pair >>> 4;
                if (highs >= 0) {
                    q |= (data.get(ValueLayout.JAVA_BYTE, highs + i) >>> sub & 1) << 4;
                }
                target[offset + sub * 32 + i] = d * q - m;
            }
        }
    }

    private static void sixes(MemorySegment data, long at, float[] target, int offset) {
        float scale = half(data, at + 208);
        for (int i = 0; i < 256; i++) {
            int half = i / 128;
            int quarter = i % 128 / 32;
            int column = i % 32;
            int low = data.get(ValueLayout.JAVA_BYTE, at + half * 64 + (quarter & 1) * 32 + column) & 0xFF;
            int high = data.get(ValueLayout.JAVA_BYTE, at + 128 + half * 32 + column) & 0xFF;
            int q = (quarter < 2 ? low & 15 : low >>> 4) | (high >>> 2 * quarter & 3) << 4;
            target[offset + i] = scale * data.get(ValueLayout.JAVA_BYTE, at + 192 + i / 16) * (q - 32);
        }
    }

    /** The 6-bit scale of sub-block {@code sub} from the 12 packed bytes at {@code at}. */
    public static int subScale(MemorySegment data, long at, int sub) {
        if (sub < 4) {
            return data.get(ValueLayout.JAVA_BYTE, at + sub) & 63;
        }
        return data.get(ValueLayout.JAVA_BYTE, at + sub + 4) & 15
                | (data.get(ValueLayout.JAVA_BYTE, at + sub - 4) >>> 6 & 3) << 4;
    }

    /** The 6-bit minimum of sub-block {@code sub} from the 12 packed bytes at {@code at}. */
    public static int subMinimum(MemorySegment data, long at, int sub) {
        if (sub < 4) {
            return data.get(ValueLayout.JAVA_BYTE, at + sub + 4) & 63;
        }
        return data.get(ValueLayout.JAVA_BYTE, at + sub + 4) >>> 4 & 15
                | (data.get(ValueLayout.JAVA_BYTE, at + sub) >>> 6 & 3) << 4;
    }

    /** The half-precision number at {@code at}. */
    public static float half(MemorySegment data, long at) {
        return Float.float16ToFloat(data.get(SHORT, at));
    }
}
