package org.harnesslearning.llm.graph;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.harnesslearning.llm.checkpoint.TensorType;

/** Writes floats in the number types of graphs. */
final class Numbers {

    private Numbers() {}

    /** Whether a stored type's bytes are those of a graph type. */
    static boolean same(TensorType stored, ElementType type) {
        return switch (stored) {
            case F32 -> type == ElementType.FLOAT;
            case F16 -> type == ElementType.FLOAT16;
            case BF16 -> type == ElementType.BFLOAT16;
            case Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K -> false;
        };
    }

    /**
     * Writes all values, rounded to the nearest (to even), from byte {@code at}.
     *
     * @param type FLOAT, FLOAT16 or BFLOAT16
     */
    static void write(float[] values, ElementType type, MemorySegment target, long at) {
        switch (type) {
            case FLOAT -> MemorySegment.copy(values, 0, target, ValueLayout.JAVA_FLOAT_UNALIGNED, at, values.length);
            case FLOAT16 -> {
                for (int i = 0; i < values.length; i++) {
                    target.set(ValueLayout.JAVA_SHORT_UNALIGNED, at + 2L * i, Float.floatToFloat16(values[i]));
                }
            }
            case BFLOAT16 -> {
                for (int i = 0; i < values.length; i++) {
                    target.set(ValueLayout.JAVA_SHORT_UNALIGNED, at + 2L * i, bfloat16(values[i]));
                }
            }
            case UINT8, INT32, INT64, BOOL -> throw new IllegalArgumentException(type + " is no floating-point type");
        }
    }

    private static short bfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        if (Float.isNaN(value)) {
            return (short) (bits >>> 16 | 0x40);
        }
        return (short) (bits + 0x7FFF + (bits >>> 16 & 1) >>> 16);
    }
}
