package org.harnesslearning.trainer.registry;

import java.time.Clock;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.store.model.AliasChange;
import org.harnesslearning.store.model.ModelAliasRow;
import org.harnesslearning.store.model.ModelAliasStore;
import org.harnesslearning.store.model.ModelVersionRow;
import org.harnesslearning.store.model.ModelVersionStore;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.web.client.RestClientException;

/**
 * The registry in Postgres. A name is a row that solver-service reads, so that each of its replicas, whenever it starts,
 * loads what it is asked for; nothing is pushed.
 */
@Component
class StoredModels implements ModelRegistry {
    private static final Logger LOG = LoggerFactory.getLogger(StoredModels.class);
    private static final String NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,127}";

    private final ModelVersionStore versions;
    private final ModelAliasStore aliases;
    private final ModelApi models;
    private final TransactionTemplate tx;
    private final Clock clock;

    StoredModels(
            ModelVersionStore versions, ModelAliasStore aliases, ModelApi models, TransactionTemplate tx, Clock clock) {
        this.versions = versions;
        this.aliases = aliases;
        this.models = models;
        this.tx = tx;
        this.clock = clock;
    }

    @Override
    public ModelVersion publish(
            LoraFiles files,
            String base,
            String baseHash,
            String kind,
            @Nullable String parent,
            String run,
            long step) {
        ModelVersionRow row = new ModelVersionRow(
                files.hash(),
                base,
                baseHash,
                kind,
                parent,
                run,
                step,
                (long) files.config().length + files.weights().length,
                clock.instant());
        boolean added =
                Boolean.TRUE.equals(tx.execute(status -> versions.insert(row, files.config(), files.weights())));
        if (added) {
            LOG.info("version {} of {} stored: {} of {}, step {}", row.id(), base, kind, run, step);
        }
        return version(versions.find(row.id()).orElseThrow());
    }

    @Override
    public void serve(String version, String name) {
        checkName(name);
        ModelVersionRow row = find(version);
        boolean set = Boolean.TRUE.equals(tx.execute(status -> aliases.serve(name, row.base(), version)));
        if (!set) {
            throw PlatformException.field(
                    ErrorCode.INVALID_STATE, "/name", "The name " + name + " is set by promotions");
        }
        try {
            ModelInfo info = ask(name);
            if (!version.equals(info.version())) {
                throw PlatformException.field(
                        ErrorCode.INVALID_STATE, "/name", "The model endpoint has another model of the name " + name);
            }
        } catch (PlatformException e) {
            withdraw(name);
            throw e;
        }
    }

    @Override
    public LoraFiles files(String version) {
        find(version);
        ModelVersionStore.Content content = versions.content(version);
        LoraFiles files = new LoraFiles(content.config(), content.weights());
        if (!files.hash().equals(version)) {
            throw new PlatformException(
                    ErrorCode.INTERNAL, "The stored bytes of " + version + " are not those that were written");
        }
        return files;
    }

    @Override
    public void withdraw(String name) {
        tx.executeWithoutResult(status -> aliases.withdraw(name));
    }

    /** Takes away the names whose training run or promotion has ended. */
    void sweep() {
        List<String> names = tx.execute(status -> aliases.sweep());
        if (names != null && !names.isEmpty()) {
            LOG.info("{} names of ended runs and promotions are taken away: {}", names.size(), names);
        }
    }

    /**
     * A version.
     *
     * @throws PlatformException NOT_FOUND
     */
    ModelVersionRow find(String version) {
        return versions.find(version)
                .orElseThrow(() ->
                        new PlatformException(ErrorCode.NOT_FOUND, "The model registry has no version " + version));
    }

    /** What a name of the registry stands for now, null for none. */
    @Nullable
    ModelAliasRow alias(String name) {
        return aliases.find(name).orElse(null);
    }

    List<AliasChange> history(String name) {
        return aliases.history(name);
    }

    /**
     * Checks that promotions may set a name.
     *
     * @throws PlatformException INVALID_FIELD, INVALID_STATE, SOLVER_UNAVAILABLE
     */
    void checkPromotable(String name) {
        checkName(name);
        ModelAliasRow alias = alias(name);
        if (alias != null && !alias.promoted()) {
            throw new PlatformException(
                    ErrorCode.INVALID_STATE, "The name " + name + " belongs to a training run or an evaluation");
        }
        if (alias == null) {
            try {
                boolean taken = models.models().data().stream()
                        .anyMatch(model -> model.id().equals(name));
                if (taken) {
                    throw new PlatformException(
                            ErrorCode.INVALID_STATE, "The model endpoint has a configured model " + name);
                }
            } catch (RestClientException e) {
                throw unreachable(e);
            }
        }
    }

    /**
     * Sets a promoted name, if it still stands for what was compared with.
     *
     * @param change its number is given by the store; its previous version is what must be served now
     * @return false when the name has changed meanwhile
     */
    boolean set(String name, String base, AliasChange change) {
        boolean set = Boolean.TRUE.equals(tx.execute(status -> {
            ModelAliasRow now = aliases.lock(name).orElse(null);
            String serving = now == null ? null : now.version();
            if (!java.util.Objects.equals(serving, change.previous())) {
                return false;
            }
            aliases.promote(name, base, change);
            return true;
        }));
        if (set) {
            LOG.info(
                    "{} serves {} now ({}{}), before {}",
                    name,
                    change.version() == null ? base : change.version(),
                    change.action(),
                    change.forced() ? ", forced" : "",
                    change.previous() == null ? base : change.previous());
        }
        return set;
    }

    /** Has the model endpoint load what a name stands for. */
    ModelInfo ask(String name) {
        try {
            return models.model(name);
        } catch (RestClientException e) {
            throw unreachable(e);
        }
    }

    static ModelVersion version(ModelVersionRow row) {
        return new ModelVersion(
                row.id(),
                row.base(),
                row.baseHash(),
                row.kind(),
                row.parent(),
                row.trainingRun(),
                row.step(),
                row.bytes(),
                row.createdAt());
    }

    private static PlatformException unreachable(RestClientException e) {
        return new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "The model endpoint can't be reached", e);
    }

    private static void checkName(String name) {
        if (!name.matches(NAME)) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/name", "A name has at most 128 letters, digits and . _ -");
        }
    }
}
