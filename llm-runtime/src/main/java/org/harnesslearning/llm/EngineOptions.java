package org.harnesslearning.llm;

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
 */
public record EngineOptions(
        int slots,
        int maxSequence,
        int maxQueue,
        int threads,
        int prefillChunk,
        boolean dequantise,
        boolean reusePrefixes,
        int spareRows) {

    public EngineOptions {
        require(slots >= 1 && slots <= 1024, "slots must lie in 1..1024");
        require(maxSequence >= 2, "maxSequence must be at least 2");
        require(maxQueue >= 1, "maxQueue must be at least 1");
        require(threads >= 1, "threads must be at least 1");
        require(spareRows >= 0 && spareRows <= 1024, "spareRows must lie in 0..1024");
        require(prefillChunk >= 1, "prefillChunk must be at least 1");
    }

    /** 8 slots of 4,096 tokens, 256 waiting requests, one thread a processor, chunks of 64, weights as stored, 2 spare rows. */
    public static EngineOptions defaults() {
        return new EngineOptions(8, 4096, 256, Runtime.getRuntime().availableProcessors(), 64, false, true, 2);
    }

    public EngineOptions withSlots(int value) {
        return new EngineOptions(
                value, maxSequence, maxQueue, threads, prefillChunk, dequantise, reusePrefixes, spareRows);
    }

    public EngineOptions withMaxSequence(int value) {
        return new EngineOptions(slots, value, maxQueue, threads, prefillChunk, dequantise, reusePrefixes, spareRows);
    }

    public EngineOptions withMaxQueue(int value) {
        return new EngineOptions(
                slots, maxSequence, value, threads, prefillChunk, dequantise, reusePrefixes, spareRows);
    }

    public EngineOptions withThreads(int value) {
        return new EngineOptions(
                slots, maxSequence, maxQueue, value, prefillChunk, dequantise, reusePrefixes, spareRows);
    }

    public EngineOptions withPrefillChunk(int value) {
        return new EngineOptions(slots, maxSequence, maxQueue, threads, value, dequantise, reusePrefixes, spareRows);
    }

    public EngineOptions withDequantise(boolean value) {
        return new EngineOptions(slots, maxSequence, maxQueue, threads, prefillChunk, value, reusePrefixes, spareRows);
    }

    public EngineOptions withReusePrefixes(boolean value) {
        return new EngineOptions(slots, maxSequence, maxQueue, threads, prefillChunk, dequantise, value, spareRows);
    }

    public EngineOptions withSpareRows(int value) {
        return new EngineOptions(slots, maxSequence, maxQueue, threads, prefillChunk, dequantise, reusePrefixes, value);
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new IllegalArgumentException(message);
        }
    }
}
