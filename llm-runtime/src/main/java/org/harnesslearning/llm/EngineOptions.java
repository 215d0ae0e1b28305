package org.harnesslearning.llm;

import java.util.function.Consumer;

/**
 * Settings of one engine.
 *
 * @param slots sequences decoded together; each sample of a request takes one
 * @param maxSequence tokens a slot can hold, prompt and completion together; cut to the model's context length
 * @param maxQueue requests that may wait for a slot
 * @param threads threads inside one model step
 * @param prefillChunk prompt tokens processed between two decode steps
 * @param dequantise whether all weights are held as fp32: slow, for comparison with other implementations
 * @param reusePrefixes whether prompts that begin like an earlier one reuse its keys and values
 * @param spareRows prompts kept for reuse beside those in the slots; each may take as much memory as a slot
 * @param maxAdapters adapters that may be resident; 0 makes a model that takes none, whose steps are a little faster
 * @param maxAdapterRank most rank of an adapter
 */
public record EngineOptions(
        int slots,
        int maxSequence,
        int maxQueue,
        int threads,
        int prefillChunk,
        boolean dequantise,
        boolean reusePrefixes,
        int spareRows,
        int maxAdapters,
        int maxAdapterRank) {

    public EngineOptions {
        require(slots >= 1 && slots <= 1024, "slots must lie in 1..1024");
        require(maxSequence >= 2, "maxSequence must be at least 2");
        require(maxQueue >= 1, "maxQueue must be at least 1");
        require(threads >= 1, "threads must be at least 1");
        require(spareRows >= 0 && spareRows <= 1024, "spareRows must lie in 0..1024");
        require(prefillChunk >= 1, "prefillChunk must be at least 1");
        require(maxAdapters >= 0 && maxAdapters <= 1024, "maxAdapters must lie in 0..1024");
        require(maxAdapterRank >= 1 && maxAdapterRank <= 1024, "maxAdapterRank must lie in 1..1024");
    }

    /**
     * 8 slots of 4,096 tokens, 256 waiting requests, one thread a processor, chunks of 64, weights as stored, 2 spare
     * rows, no adapters.
     */
    public static EngineOptions defaults() {
        return new EngineOptions(8, 4096, 256, Runtime.getRuntime().availableProcessors(), 64, false, true, 2, 0, 64);
    }

    public EngineOptions withSlots(int value) {
        return with(draft -> draft.slots = value);
    }

    public EngineOptions withMaxSequence(int value) {
        return with(draft -> draft.maxSequence = value);
    }

    public EngineOptions withMaxQueue(int value) {
        return with(draft -> draft.maxQueue = value);
    }

    public EngineOptions withThreads(int value) {
        return with(draft -> draft.threads = value);
    }

    public EngineOptions withPrefillChunk(int value) {
        return with(draft -> draft.prefillChunk = value);
    }

    public EngineOptions withDequantise(boolean value) {
        return with(draft -> draft.dequantise = value);
    }

    public EngineOptions withReusePrefixes(boolean value) {
        return with(draft -> draft.reusePrefixes = value);
    }

    public EngineOptions withSpareRows(int value) {
        return with(draft -> draft.spareRows = value);
    }

    /** Room for so many adapters of at most this rank. */
    public EngineOptions withAdapters(int count, int rank) {
        return with(draft -> {
            draft.maxAdapters = count;
            draft.maxAdapterRank = rank;
        });
    }

    private EngineOptions with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return new EngineOptions(
                draft.slots,
                draft.maxSequence,
                draft.maxQueue,
                draft.threads,
                draft.prefillChunk,
                draft.dequantise,
                draft.reusePrefixes,
                draft.spareRows,
                draft.maxAdapters,
                draft.maxAdapterRank);
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new IllegalArgumentException(message);
        }
    }

    /** The same fields, open to change. */
    private static final class Draft {
        private int slots;
        private int maxSequence;
        private int maxQueue;
        private int threads;
        private int prefillChunk;
        private boolean dequantise;
        private boolean reusePrefixes;
        private int spareRows;
        private int maxAdapters;
        private int maxAdapterRank;

        Draft(EngineOptions origin) {
            slots = origin.slots;
            maxSequence = origin.maxSequence;
            maxQueue = origin.maxQueue;
            threads = origin.threads;
            prefillChunk = origin.prefillChunk;
            dequantise = origin.dequantise;
            reusePrefixes = origin.reusePrefixes;
            spareRows = origin.spareRows;
            maxAdapters = origin.maxAdapters;
            maxAdapterRank = origin.maxAdapterRank;
        }
    }
}
