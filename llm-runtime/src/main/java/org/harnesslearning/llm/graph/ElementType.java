package org.harnesslearning.llm.graph;

/** Element types of graph tensors, with ONNX's numbers. */
public enum ElementType {
    FLOAT(1, 4),
    UINT8(2, 1),
    INT32(6, 4),
    INT64(7, 8),
    BOOL(9, 1);

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

    /** Bytes of one element. */
    public int bytes() {
        return bytes;
    }
}
