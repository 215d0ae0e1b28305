package org.harnesslearning.llm.graph;

import java.lang.foreign.MemorySegment;

/** Element types of graph tensors, with ONNX's numbers. */
public enum ElementType {
    FLOAT(1, 4),
    UINT8(2, 1),
    INT32(6, 4),
    INT64(7, 8),
    BOOL(9, 1),
    FLOAT16(10, 2),
    BFLOAT16(16, 2);

    private final int id;
    private final int bytes;

    ElementType(int id, int bytes) {
        this.id = id;
        this.bytes = bytes;
    }

    /** ONNX's {@code TensorProto.DataType}, which is also ONNX Runtime's number. */
    public int id() {
        return id;
    }

    /**
     * Writes all values, rounded to the nearest (to even), from byte {@code at}; for floating-point types.
     *
     * @throws IllegalArgumentException for other types
     */
    public void write(float[] values, MemorySegment target, long at) {
        Numbers.write(values, this, target, at);
    }

    /** Bytes of one element. */
    public int bytes() {
        return bytes;
    }
}
