package org.harnesslearning.llm;

import java.util.function.Consumer;

/**
 * Settings of one engine.
 *
 * @param slots sequences decoded together; each sample of a request takes one
 * @param maxSequence tokens a slot can hold, prompt and completion together; cut to the model's context length
 * @param maxQueue requests that may wait for a slot
 * @param threads threads inside one model step
 * @param prefillChunk prompt tokens processed between two decode steps; 0 chooses by device: 64 on a processor, 1,024 on
 *     a GPU
 * @param dequantise whether all weights are held as fp32: slow, for comparison with other implementations
 * @param reusePrefixes whether prompts that begin like an earlier one reuse its keys and values
 * @param spareRows prompts kept for reuse beside those in the slots; each may take as much memory as a slot
 * @param maxAdapters adapters that may be resident; 0 makes a model that takes none, whose steps are a little faster
 * @param maxAdapterRank most rank of an adapter
 * @param device where the model runs
 * @param numberType number type of dense weights, activations and cache; a processor computes in FP32 only
 * @param matrixKernels who multiplies with quantised matrices on a processor
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
        int maxAdapterRank,
        Device device,
        NumberType numberType,
        MatrixKernels matrixKernels) {

    public EngineOptions {
        require(slots >= 1 && slots <= 1024, "slots must lie in 1..1024");
        require(maxSequence >= 2, "maxSequence must be at least 2");
        require(maxQueue >= 1, "maxQueue must be at least 1");
        require(threads >= 1, "threads must be at least 1");
        require(spareRows >= 0 && spareRows <= 1024, "spareRows must lie in 0..1024");
        require(prefillChunk >= 0, "prefillChunk must not be negative");
        require(maxAdapters >= 0 && maxAdapters <= 1024, "maxAdapters must lie in 0..1024");
        require(maxAdapterRank >= 1 && maxAdapterRank <= 1024, "maxAdapterRank must lie in 1..1024");
        require(
                !(device instanceof Device.Cpu) || numberType == NumberType.AUTO || numberType == NumberType.FP32,
                "a processor computes in FP32 only");
    }

    /**
     * 8 slots of 4,096 tokens, 256 waiting requests, one thread a processor, chunks by device, weights as stored, 2 spare
     * rows, no adapters, on the processor.
     */
    public static EngineOptions defaults() {
        int processors = Runtime.getRuntime().availableProcessors();
        return new EngineOptions(
                8, 4096, 256, processors, 0, false, true, 2, 0, 64, Device.cpu(), NumberType.AUTO, MatrixKernels.AUTO);
    }

    /** Prompt tokens processed between two decode steps. */
    public int chunk() {
        if (prefillChunk > 0) {
            return prefillChunk;
        }
        return switch (device) {
            case Device.Cpu cpu -> 64;
            case Device.Cuda cuda -> 1024;
        };
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

    /** On another device, with another number type. */
    public EngineOptions withDevice(Device where, NumberType type) {
        return with(draft -> {
            draft.device = where;
            draft.numberType = type;
        });
    }

    public EngineOptions withMatrixKernels(MatrixKernels value) {
        return with(draft -> draft.matrixKernels = value);
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
                draft.maxAdapterRank,
                draft.device,
                draft.numberType,
                draft.matrixKernels);
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
        private Device device;
        private NumberType numberType;
        private MatrixKernels matrixKernels;

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
            device = origin.device;
            numberType = origin.numberType;
            matrixKernels = origin.matrixKernels;
        }
    }
}
