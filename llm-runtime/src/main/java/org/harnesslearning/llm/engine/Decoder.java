package org.harnesslearning.llm.engine;

import java.util.List;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.sampling.Candidates;

/**
 * A model with a cache of keys and values in rows, and one step over some of them.
 *
 * <p>Used by one thread. A row's first {@code past} cells must be valid when a step names it.
 */
interface Decoder extends AutoCloseable {

    /** Rows of the cache. */
    int rows();

    /** Cells of a row, tokens. */
    int maxSequence();

    /** Does what would make the first steps slow; called once by the thread that will use this. */
    default void prepare() {}

    /**
     * Appends tokens to one row and returns what follows the last of them.
     *
     * @param row the row
     * @param past cells of it that are kept
     * @param tokens at least one
     */
    Candidates extend(int row, int past, int[] tokens, Shaping shaping);

    /**
     * Appends one token to each of the rows 0 … n − 1.
     *
     * @param pasts cells in use, for each row
     * @param tokens token to append, for each row
     * @return candidates for each row; their full logits can be read until the next step
     */
    List<Candidates> step(int[] pasts, int[] tokens, List<Shaping> shapings);

    /**
     * Checks that an adapter suits the model; on any thread.
     *
     * @throws org.harnesslearning.llm.checkpoint.CheckpointException if not
     */
    void checkAdapter(LoraAdapter adapter);

    /** Puts an adapter into an empty slot, 0 … {@link EngineOptions#maxAdapters()} − 1. */
    void writeAdapter(int slot, LoraAdapter adapter);

    /** Empties a slot, which no later step names before it is written again. */
    void clearAdapter(int slot);

    /** Copies the first cells of one row to another. */
    void copy(int from, int to, int cells);

    /** Exchanges two rows, of which so many cells are in use. */
    void swap(int first, int firstCells, int second, int secondCells);

    @Override
    void close();
}
