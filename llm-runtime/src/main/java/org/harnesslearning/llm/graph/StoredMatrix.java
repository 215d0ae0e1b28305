package org.harnesslearning.llm.graph;

import java.lang.foreign.MemorySegment;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.jspecify.annotations.Nullable;

/** A quantised matrix of a checkpoint that a {@link org.harnesslearning.llm.product.ProductOperator} multiplies with. */
public final class StoredMatrix {

    private final Tensor weight;
    private final RowOrder order;
    private final float @Nullable [] bias;

    StoredMatrix(Tensor weight, RowOrder order, float @Nullable [] bias) {
        this.weight = weight;
        this.order = order;
        this.bias = bias;
    }

    /** A matrix whose rows stay in the order in which they are stored. */
    public static StoredMatrix natural(Tensor weight, float @Nullable [] bias) {
        return new StoredMatrix(weight, RowOrder.NATURAL, bias);
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

    /**
     * How {@link #pack} gives the weights: each is {@code scale × (quant − zero) + offset}, where zero is half of what a
     * quant can be.
     *
     * @param bits of a quant, 4 or 8
     * @param block columns with a common scale
     * @param offset whether they have a common offset, too
     */
    public record Form(int bits, int block, boolean offset) {}

    /** The form that the type gets. */
    public Form form() {
        BlockPacker.Form form = BlockPacker.Form.of(weight.type());
        return new Form(form.bits, form.block, form.offset);
    }

    /**
     * Unpacks some rows, in the graph's order.
     *
     * @param quants uint8 (rows, columns × bits / 8), of 4 bits the earlier in the low half of a byte
     * @param scales float (rows, columns / block)
     * @param offsets float (rows, columns / block); {@link MemorySegment#NULL} for forms without
     */
    public void pack(int firstRow, int rows, MemorySegment quants, MemorySegment scales, MemorySegment offsets) {
        BlockPacker.pack(weight, order, firstRow, rows, quants, scales, offsets);
    }
}
