package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.jspecify.annotations.Nullable;

/** All models of the endpoint by name: the configured ones, and those that loaded adapters make. Thread-safe. */
public final class ModelRegistry {
    private final Map<String, ModelBackend> backends;
    private final ReentrantLock loading = new ReentrantLock();
    private final ReentrantLock lock = new ReentrantLock();

    private Consumer<List<ModelBackend>> watcher = loaded -> {}; // guarded by lock

    private volatile ModelFinder finder = ModelFinder.NONE;

    /** Replaced on each change. */
    private volatile Map<String, ModelBackend> adapters = Map.of();

    public ModelRegistry(Map<String, ModelBackend> backends) {
        this.backends = new LinkedHashMap<>(backends);
    }

    /** Has names that are neither configured nor loaded looked up. */
    public void findBy(ModelFinder newFinder) {
        finder = newFinder;
    }

    /**
     * The back-end of a name; one of the model registry is loaded if needed.
     *
     * @throws PlatformException with {@code UNKNOWN_MODEL}
     */
    public ModelBackend get(String name) {
        ModelBackend backend = present(name);
        // What the list says of it is read from its file, which a call does not need.
        return backend == null ? lookUp(name).backend() : backend;
    }

    /**
     * What the list says of a name.
     *
     * @throws PlatformException as {@link #get}
     */
    public ModelInfo info(String name) {
        ModelBackend backend = present(name);
        return backend == null ? lookUp(name).info() : backend.info();
    }

    /** The configured or loaded back-end of a name, null for none; nothing is looked up. */
    public @Nullable ModelBackend present(String name) {
        ModelBackend backend = backends.get(name);
        return backend == null ? adapters.get(name) : backend;
    }

    /** Names that can be looked up, as they stand in the list of models. */
    public List<ModelInfo> named() {
        return finder.names().stream()
                .filter(info -> present(info.id()) == null)
                .toList();
    }

    private ModelFinder.Found lookUp(String name) {
        ModelFinder.Found found = finder.find(name).orElse(null);
        if (found == null) {
            List<String> known = new ArrayList<>(backends.keySet());
            known.addAll(adapters.keySet());
            throw PlatformException.field(
                    ErrorCode.UNKNOWN_MODEL,
                    "/model",
                    "No model '%s'; known: %s".formatted(name, String.join(", ", known)));
        }
        return found;
    }

    /** The configured back-ends in order of definition, then those of adapters in order of loading. */
    public Collection<ModelBackend> all() {
        List<ModelBackend> all = new ArrayList<>(backends.values());
        all.addAll(adapters.values());
        return all;
    }

    /**
     * Makes an adapter resident in a base model, under a name of its own.
     *
     * @param replace whether the name may belong to another adapter of this base now
     * @throws PlatformException with {@code INVALID_STATE} if the name is taken or the base has no room, {@code
     *     INVALID_FIELD} if the adapter was made for another base
     */
    public ModelBackend load(String name, ModelBackend base, LoraAdapter adapter, boolean replace) {
        if (backends.containsKey(name)) {
            throw PlatformException.field(
                    ErrorCode.INVALID_STATE, "/lora_name", "There is a configured model '" + name + "'");
        }
        loading.lock();
        try {
            ModelBackend present = adapters.get(name);
            if (present != null && !base.name().equals(present.info().parent())) {
                throw PlatformException.field(
                        ErrorCode.INVALID_STATE, "/lora_name", "There is an adapter '" + name + "' of another model");
            }
            ModelBackend adapted = base.load(name, adapter, replace);
            change(name, adapted);
            return adapted;
        } finally {
            loading.unlock();
        }
    }

    /**
     * Takes an adapter's name away, and returns once the requests that use it have ended.
     *
     * @throws PlatformException with {@code NOT_FOUND} if no adapter has this name
     */
    public void unload(String name) {
        ModelBackend adapted = change(name, null);
        if (adapted == null) {
            throw PlatformException.field(ErrorCode.NOT_FOUND, "/lora_name", "No adapter '" + name + "' is loaded");
        }
        adapted.unload();
    }

    /** Shows the models that adapters make, now and after each change. */
    void onAdapters(Consumer<List<ModelBackend>> newWatcher) {
        lock.lock();
        try {
            watcher = newWatcher;
            watcher.accept(List.copyOf(adapters.values()));
        } finally {
            lock.unlock();
        }
    }

    private @Nullable ModelBackend change(String name, @Nullable ModelBackend backend) {
        lock.lock();
        try {
            Map<String, ModelBackend> changed = new LinkedHashMap<>(adapters);
            ModelBackend before = backend == null ? changed.remove(name) : changed.put(name, backend);
            adapters = changed;
            watcher.accept(List.copyOf(changed.values()));
            return before;
        } finally {
            lock.unlock();
        }
    }
}
