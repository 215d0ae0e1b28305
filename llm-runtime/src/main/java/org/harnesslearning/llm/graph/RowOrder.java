package org.harnesslearning.llm.graph;

/** Which stored row of a matrix goes to a row of the graph's matrix. */
@FunctionalInterface
interface RowOrder {

    RowOrder NATURAL = row -> row;

    int storedRow(int row);

    /** Undoes the order 0, n/2, 1, n/2 + 1, … within each head. */
    static RowOrder deinterleaved(int headSize) {
        int half = headSize / 2;
        return row -> {
            int within = row % headSize;
            return row - within + (within < half ? 2 * within : 2 * (within - half) + 1);
        };
    }
}
