package org.harnesslearning.solver.inference;

import java.util.List;
import java.util.function.IntConsumer;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.llm.EngineStatistics;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.jspecify.annotations.Nullable;

/** One model name's back-end. All methods may be called from any thread; errors are {@link PlatformException}s. */
public interface ModelBackend {
    /** Name in requests. */
    String name();

    /** What stands in the list of models. */
    ModelInfo info();

    /**
     * Samples the replies of a call; blocks.
     *
     * @param sink sees the replies as they grow, where the call asks for that
     * @param cancellation ends the call early
     */
    ChatResponse chat(ChatCall call, DeltaSink sink, Cancellation cancellation);

    /** Continues a text or tokens; as {@link #chat}. */
    default TextCompletion complete(CompletionCall call, DeltaSink sink, Cancellation cancellation) {
        throw unsupported("continue texts");
    }

    /** Does what a first call would have to wait for. */
    default void warmUp() {}

    /** What runs this name's calls in this process: names with the same engine share the object; null for none. */
    default @Nullable Object engine() {
        return null;
    }

    /** Load and counters of a loaded local model; null for others. */
    default @Nullable EngineStatistics statistics() {
        return null;
    }

    /** Shows, from now on, how many tokens each turn of the engine processes; called on the engine's thread. */
    default void observeTurns(IntConsumer observer) {}

    /** A prompt in tokens. */
    default Tokenized tokenize(Prompt prompt) {
        throw unsupported("tokenize");
    }

    /** The text of token ids. */
    default String detokenize(List<Integer> tokens) {
        throw unsupported("detokenize");
    }

    /** Whether {@link #load} may succeed. */
    default boolean takesAdapters() {
        return false;
    }

    /**
     * Makes an adapter resident and answers the model that it makes; the same name and content again change nothing.
     *
     * @param replace whether the name may have other content now; calls that run go on with that
     * @throws PlatformException with {@code INVALID_STATE} if the name is taken by other content or there is no room,
     *     {@code INVALID_FIELD} if the adapter does not suit this model
     */
    default ModelBackend load(String adapterName, LoraAdapter adapter, boolean replace) {
        throw unsupported("take adapters");
    }

    /** What the list would say of this model with an adapter, loaded or not. */
    default ModelInfo infoWith(String adapterName, String adapterHash) {
        throw unsupported("take adapters");
    }

    /** Of a model that an adapter makes: the calls that wait or run with it. */
    default int adapterRequests() {
        return 0;
    }

    /** Of a model that an adapter makes: gives up the adapter, and returns once the calls that use it have ended. */
    default void unload() {
        throw unsupported("be unloaded");
    }

    private PlatformException unsupported(String what) {
        ModelInfo info = info();
        return PlatformException.field(
                ErrorCode.INVALID_FIELD,
                "/model",
                "Only local models can %s; '%s' is %s"
                        .formatted(what, info.id(), info.kind().json()));
    }
}
