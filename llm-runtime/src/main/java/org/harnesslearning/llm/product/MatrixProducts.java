package org.harnesslearning.llm.product;

/**
 * Products of inputs with quantised matrices, {@code input × weightᵀ + bias}. Each product has a number and one or more
 * matrices that share its input.
 *
 * <p>Used by one thread at a time, close included.
 */
public interface MatrixProducts extends AutoCloseable {

    /** How many matrices the product has, each with an output. */
    int outputs(int product);

    /** Length of an output. */
    int rows(int product, int output);

    /** Length of an input. */
    int columns(int product);

    /**
     * Computes a product.
     *
     * @param input address of floats (count, columns)
     * @param outputs addresses of floats (count, rows), one for each matrix
     */
    void compute(int product, long input, int count, long... outputs);

    @Override
    void close();
}
