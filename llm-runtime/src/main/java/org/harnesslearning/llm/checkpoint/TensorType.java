package org.harnesslearning.llm.checkpoint;

/**
 * Number formats of stored weights, with the block layout of each (ggml's {@code ggml-common.h}).
 *
 * <p>A row of a matrix is a whole number of blocks.
 */
public enum TensorType {
    F32(0, 1, 4),
    F16(1, 1, 2),
    Q4_0(2, 32, 18),
    Q4_1(3, 32, 20),
    Q5_0(6, 32, 22),
    Q5_1(7, 32, 24),
    Q8_0(8, 32, 34),
    Q4_K(12, 256, 144),
    Q5_K(13, 256, 176),
    Q6_K(14, 256, 210),
    BF16(30, 1, 2);

    private final int id;
    private final int blockElements;
    private final int blockBytes;

    TensorType(int id, int blockElements, int blockBytes) {
        this.id = id;
        this.blockElements = blockElements;
        this.blockBytes = blockBytes;
    }

    /** The number GGUF gives it. */
    public int id() {
        return id;
    }

    /** Weights in a block. */
    public int blockElements() {
        return blockElements;
    }

    /** Bytes of a block. */
    public int blockBytes() {
        return blockBytes;
    }

    /** Whether several weights share a scale. */
    public boolean quantised() {
        return blockElements > 1;
    }
}
