package org.harnesslearning.llm.checkpoint;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * One stored tensor; its data are a view of the mapped file.
 *
 * @param name name in the file
 * @param type number format
 * @param shape row-major, slowest dimension first: a matrix is (rows, columns) = (outputs, inputs)
 * @param data the bytes, exactly as many as type and shape need
 */
public record Tensor(String name, TensorType type, List<Long> shape, MemorySegment data) {

    public Tensor {
        shape = List.copyOf(shape);
    }

    /** Number of weights. */
    public long elements() {
        long product = 1;
        for (long dimension : shape) {
            product *= dimension;
        }
        return product;
    }
}
