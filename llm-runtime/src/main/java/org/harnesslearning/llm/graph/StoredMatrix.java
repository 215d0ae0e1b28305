package org.harnesslearning.llm.graph;

import java.lang.foreign.MemorySegment;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.jspecify.annotations.Nullable;

/** A quantised matrix that is multiplied in the form in which the checkpoint stores it. */
public final class StoredMatrix {

    private final Tensor weight;
    private final RowOrder order;
    private final float @Nullable [] bias;

    StoredMatrix(Tensor weight, RowOrder order, float @Nullable [] bias) {
        this.weight = weight;
        this.order = order;
        this.bias = bias;
    }

    /** The stored tensor, (rows, columns). */
    public Tensor weight() {
        return weight;
    }

    /** Added to the product's rows, in the graph's order. */
    public float @Nullable [] bias() {
        return bias;
    }

    /** Copies the rows in the graph's order. */
    public void copy(MemorySegment target) {
        int rows = Math.toIntExact(weight.shape().getFirst());
        long rowBytes = weight.data().byteSize() / rows;
        for (int row = 0; row < rows; row++) {
            MemorySegment.copy(weight.data(), order.storedRow(row) * rowBytes, target, row * rowBytes, rowBytes);
        }
    }
}
