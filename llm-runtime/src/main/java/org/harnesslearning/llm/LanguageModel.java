package org.harnesslearning.llm;

import java.nio.file.Path;
import java.util.List;
import java.util.function.IntConsumer;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.engine.ModelLoader;

/**
 * A decoder loaded into memory, generating for many requests at once.
 *
 * <p>It knows token ids only; tokenizer, chat template and stop strings belong to the caller. All methods may be called
 * from any thread.
 */
public interface LanguageModel extends AutoCloseable {

    /**
     * Loads a checkpoint and starts its engine.
     *
     * @param checkpoint a GGUF file, or a directory with {@code config.json} and safetensors, or with
     *     {@code genai_config.json} and an ONNX graph (ONNX Runtime GenAI)
     * @throws CheckpointException if the file is damaged or of a kind this runtime does not read
     */
    static LanguageModel load(Path checkpoint, EngineOptions options) {
        return load(checkpoint, options, tokens -> {});
    }

    /**
     * As above.
     *
     * @param turns sees, on the engine thread, how many tokens each turn with a model step processed: those of the prompt
     *     and one for each running sample; it must return quickly
     */
    static LanguageModel load(Path checkpoint, EngineOptions options, IntConsumer turns) {
        return ModelLoader.load(checkpoint, options, turns);
    }

    /** What was loaded. */
    ModelCard card();

    /** The settings in force; {@link EngineOptions#maxSequence()} is the longest prompt + completion. */
    EngineOptions options();

    /**
     * Queues a request and returns at once.
     *
     * @throws QueueFullException if {@link EngineOptions#maxQueue()} requests are waiting already
     * @throws ContextLengthException if prompt + {@code maxTokens} does not fit into a slot
     * @throws IllegalArgumentException if a token id lies outside the vocabulary
     * @throws AdapterException if the request's adapter is not resident
     * @throws IllegalStateException if the model is closed
     */
    Generation submit(GenerationRequest request);

    /**
     * Makes an adapter resident under a name, while other requests go on. One that is resident with the same name and
     * content is left as it is.
     *
     * @param replace whether a name with other content passes to this adapter: requests that were submitted before end
     *     with the weights that they began with. This needs a free slot for the time of both.
     * @throws CheckpointException if the adapter was made for another base, or its rank is too high
     * @throws AdapterException if adapters are switched off, the name is taken or no slot is free
     * @throws ModelClosedException if the model is closed
     */
    AdapterCard loadAdapter(String name, LoraAdapter adapter, boolean replace);

    /** The same; a name with other content is refused. */
    default AdapterCard loadAdapter(String name, LoraAdapter adapter) {
        return loadAdapter(name, adapter, false);
    }

    /**
     * Takes an adapter's name away at once, waits until no request uses the adapter and frees its slot.
     *
     * @throws AdapterException if no adapter of this name is resident
     * @throws ModelClosedException if the model is closed
     */
    void unloadAdapter(String name);

    /** The adapters that requests can name. */
    List<AdapterCard> adapters();

    /** Load and counters at this moment. */
    EngineStatistics statistics();

    /** Stops admission, fails what is unfinished with a {@link ModelClosedException} and frees native memory. */
    @Override
    void close();
}
