package org.harnesslearning.solver.adapter;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.solver.inference.ModelBackend;
import org.harnesslearning.solver.inference.ModelFinder;
import org.harnesslearning.solver.inference.ModelRegistry;
import org.harnesslearning.store.model.ModelAliasRow;
import org.harnesslearning.store.model.ModelAliasStore;
import org.harnesslearning.store.model.ModelVersionRow;
import org.harnesslearning.store.model.ModelVersionStore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;

/**
 * The names and versions of the model registry. A name is looked up for each request, so a promotion holds from its
 * commit on, in every replica; a version is loaded when it is first asked for, and gives way when the base model has no
 * room for another one. {@code name@sha256:…} asks for a version whatever the name stands for now.
 */
final class RegistryModels implements ModelFinder {
    private static final Logger LOG = LoggerFactory.getLogger(RegistryModels.class);
    private static final Pattern PINNED = Pattern.compile("(?:[^@]+@)?(sha256:[0-9a-f]{64})");

    private final ModelVersionStore versions;
    private final ModelAliasStore aliases;
    private final ModelRegistry registry;
    private final ReentrantLock loading = new ReentrantLock();
    /** Versions loaded here, with the time of their last use. */
    private final Map<String, Long> used = new ConcurrentHashMap<>();

    RegistryModels(ModelVersionStore versions, ModelAliasStore aliases, ModelRegistry registry) {
        this.versions = versions;
        this.aliases = aliases;
        this.registry = registry;
    }

    static boolean isVersion(String reference) {
        return reference.matches("sha256:[0-9a-f]{64}");
    }

    @Override
    public Optional<Found> find(String name) {
        Matcher pinned = PINNED.matcher(name);
        if (pinned.matches()) {
            return Optional.of(found(name, pinned.group(1)));
        }
        ModelAliasRow alias = ask(() -> aliases.find(name)).orElse(null);
        if (alias == null) {
            return Optional.empty();
        }
        String version = alias.version();
        if (version != null) {
            return Optional.of(found(name, version));
        }
        ModelBackend base = registry.present(alias.base());
        return base == null ? Optional.empty() : Optional.of(new Found(base, named(name, base, null)));
    }

    @Override
    public List<ModelInfo> names() {
        List<ModelInfo> names = new ArrayList<>();
        try {
            for (ModelAliasRow alias : aliases.all()) {
                ModelBackend base = registry.present(alias.base());
                if (base != null && (alias.version() == null || base.takesAdapters())) {
                    names.add(named(alias.name(), base, alias.version()));
                }
            }
        } catch (DataAccessException e) {
            LOG.warn("the names of the model registry can't be read: {}", e.getMessage());
        }
        return names;
    }

    /** Names that promotions set; empty while the registry can't be read. */
    List<String> promoted() {
        try {
            return aliases.all().stream()
                    .filter(ModelAliasRow::promoted)
                    .map(ModelAliasRow::name)
                    .toList();
        } catch (DataAccessException e) {
            LOG.warn("the names of the model registry can't be read: {}", e.getMessage());
            return List.of();
        }
    }

    /**
     * A stored adapter.
     *
     * @throws PlatformException UNKNOWN_MODEL for no such version, INVALID_FIELD for one that can't be used, INTERNAL for
     *     bytes that do not have their hash, SOLVER_UNAVAILABLE when the registry can't be read
     */
    LoraAdapter read(String version) {
        row(version);
        ModelVersionStore.Content content = ask(() -> versions.content(version));
        try {
            LoraAdapter adapter = LoraAdapter.of(Path.of("adapter"), content.config(), content.weights());
            if (!adapter.hash().equals(version)) {
                throw new PlatformException(
                        ErrorCode.INTERNAL, "The stored bytes of " + version + " are not those that were written");
            }
            return adapter;
        } catch (CheckpointException e) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/lora_path", "The adapter cannot be used: " + e.reason());
        }
    }

    private Found found(String name, String version) {
        ModelBackend backend = registry.present(version);
        if (backend == null) {
            backend = load(version);
        }
        used.put(version, System.nanoTime());
        ModelBackend base = base(row(version));
        return new Found(backend, named(name, base, version));
    }

    private ModelBackend load(String version) {
        loading.lock();
        try {
            ModelBackend present = registry.present(version);
            if (present != null) {
                return present;
            }
            ModelVersionRow row = row(version);
            ModelBackend base = base(row);
            LoraAdapter adapter = read(version);
            while (true) {
                try {
                    ModelBackend loaded = registry.load(version, base, adapter, false);
                    LOG.info("version {} loaded on {}", version, base.name());
                    return loaded;
                } catch (PlatformException e) {
                    if (e.code() != ErrorCode.INVALID_STATE) {
                        throw e;
                    }
                    if (!giveWay(base)) {
                        throw new PlatformException(
                                ErrorCode.QUEUE_FULL,
                                "No room for another adapter on " + base.name() + ": all that are loaded are in use",
                                List.of(),
                                2,
                                e);
                    }
                }
            }
        } finally {
            loading.unlock();
        }
    }

    /** Unloads the version of this base that was not used for the longest time, if one is idle. */
    private boolean giveWay(ModelBackend base) {
        Optional<String> idle = used.entrySet().stream()
                .sorted(Map.Entry.comparingByValue(Comparator.naturalOrder()))
                .map(Map.Entry::getKey)
                .filter(version -> {
                    ModelBackend loaded = registry.present(version);
                    return loaded != null
                            && loaded.adapterRequests() == 0
                            && base.name().equals(loaded.info().parent());
                })
                .findFirst();
        idle.ifPresent(version -> {
            used.remove(version);
            registry.unload(version);
            LOG.info("version {} gives way", version);
        });
        return idle.isPresent();
    }

    private ModelVersionRow row(String version) {
        return ask(() -> versions.find(version))
                .orElseThrow(() -> PlatformException.field(
                        ErrorCode.UNKNOWN_MODEL, "/model", "The model registry has no version " + version));
    }

    private ModelBackend base(ModelVersionRow row) {
        ModelBackend base = registry.present(row.base());
        if (base == null || !base.takesAdapters()) {
            throw PlatformException.field(
                    ErrorCode.UNKNOWN_MODEL,
                    "/model",
                    "The version is one of '" + row.base() + "', which this server "
                            + (base == null ? "does not serve" : "serves without adapters: see solver.adapters"));
        }
        return base;
    }

    private static ModelInfo named(String name, ModelBackend base, @Nullable String version) {
        ModelInfo info = version == null ? base.info() : base.infoWith(name, version);
        return new ModelInfo(
                name,
                info.object(),
                info.created(),
                info.ownedBy(),
                info.kind(),
                info.identity(),
                info.weightsHash(),
                info.numberType(),
                info.maxModelLen(),
                base.name(),
                version == null ? ModelInfo.BASE : version);
    }

    private static <T> T ask(Supplier<T> question) {
        try {
            return question.get();
        } catch (DataAccessException e) {
            throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "The model registry can't be read now", e);
        }
    }
}
