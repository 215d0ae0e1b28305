package org.harnesslearning.solver.local;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.llm.AdapterCard;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.EngineStatistics;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.chat.ChatEncoder;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.GenAiFolder;
import org.harnesslearning.llm.checkpoint.Gguf;
import org.harnesslearning.llm.engine.ModelLoader;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One checkpoint, loaded at most once and on first use, however many names it is served under. Thread-safe.
 *
 * <p>States: new → loaded → closed, new → closed. A failed load leaves it new; for {@value #RETRY_SECONDS} seconds its
 * reason is what calls are told, then the next call tries again.
 */
public final class LocalCheckpoint implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalCheckpoint.class);

    private static final int RETRY_SECONDS = 30;

    private final Path path;
    private final EngineOptions options;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable LoadedModel loaded;
    private volatile @Nullable Facts facts;
    private final List<IntConsumer> turnObservers = new CopyOnWriteArrayList<>();
    private boolean closed;
    private @Nullable PlatformException failure;
    private long failedAt;

    /** What identifies the model; read from the file without loading it. */
    record Facts(String weightsHash, String numberType, int contextLength) {}

    public LocalCheckpoint(Path path, EngineOptions options) {
        this.path = path;
        this.options = options;
    }

    Facts facts() {
        Facts known = facts;
        if (known != null) {
            return known;
        }
        lock.lock();
        try {
            Facts read = read();
            facts = read;
            return read;
        } catch (CheckpointException e) {
            throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "The model cannot be read: " + e.getMessage(), e);
        } finally {
            lock.unlock();
        }
    }

    private Facts read() {
        if (GenAiFolder.isOne(path)) {
            GenAiFolder folder = GenAiFolder.open(path);
            return new Facts(folder.weightsHash(), GenAiFolder.NUMBER_TYPE, folder.contextLength());
        }
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            return new Facts(
                    checkpoint.weightsHash(),
                    ModelLoader.numberType(checkpoint, options),
                    checkpoint.config().contextLength());
        }
    }

    /** Most tokens of prompt and reply. */
    int maxSequence() {
        return Math.min(options.maxSequence(), facts().contextLength());
    }

    /** The adapters of the loaded model. */
    List<AdapterCard> adapters() {
        LoadedModel present = loaded;
        return present == null ? List.of() : present.engine().adapters();
    }

    boolean takesAdapters() {
        return options.maxAdapters() > 0;
    }

    /** The model, loaded now if need be. */
    LoadedModel get() {
        LoadedModel present = loaded;
        if (present != null) {
            return present;
        }
        lock.lock();
        try {
            present = loaded;
            if (present != null) {
                return present;
            }
            if (closed) {
                throw new PlatformException(ErrorCode.DRAINING, "The model has been closed");
            }
            if (failure != null && System.nanoTime() - failedAt < TimeUnit.SECONDS.toNanos(RETRY_SECONDS)) {
                throw failure;
            }
            LoadedModel fresh = load();
            var card = fresh.engine().card();
            facts = new Facts(card.weightsHash(), card.numberType(), card.contextLength());
            loaded = fresh;
            failure = null;
            return fresh;
        } finally {
            lock.unlock();
        }
    }

    private LoadedModel load() {
        try {
            ChatEncoder encoder = encoder();
            try {
                return new LoadedModel(LanguageModel.load(path, options, this::turn), encoder);
            } catch (RuntimeException | Error e) {
                encoder.close();
                throw e;
            }
        } catch (RuntimeException | OutOfMemoryError | LinkageError e) {
            LOG.error("{} cannot be loaded", path, e);
            failedAt = System.nanoTime();
            failure = new PlatformException(
                    ErrorCode.SOLVER_UNAVAILABLE,
                    "The model cannot be loaded: " + e.getMessage(),
                    List.of(),
                    RETRY_SECONDS,
                    e);
            throw failure;
        }
    }

    private void turn(int tokens) {
        turnObservers.forEach(observer -> observer.accept(tokens));
    }

    /** Shows how many tokens each turn of the engine processes, from the next on. */
    void observeTurns(IntConsumer observer) {
        turnObservers.add(observer);
    }

    /** Loads the model and makes one token with it. */
    void warmUp() {
        LoadedModel model = get();
        int[] prompt = model.encoder().tokenizer().encode("Hello", false);
        model.engine().submit(GenerationRequest.greedy(prompt, 1)).result().join();
    }

    @Nullable
    EngineStatistics statistics() {
        LoadedModel present = loaded;
        return present == null ? null : present.engine().statistics();
    }

    private ChatEncoder encoder() {
        if (Files.isDirectory(path)) {
            return ChatEncoder.fromDirectory(path);
        }
        try (Gguf gguf = Gguf.open(path)) {
            return ChatEncoder.fromGguf(gguf.metadata(), path.toString());
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            LoadedModel present = loaded;
            loaded = null;
            if (present != null) {
                present.engine().close();
                present.encoder().close();
            }
        } finally {
            lock.unlock();
        }
    }
}
