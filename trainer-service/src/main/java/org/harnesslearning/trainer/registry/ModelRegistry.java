package org.harnesslearning.trainer.registry;

import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.jspecify.annotations.Nullable;

/** Adapters by content, and where they are served. */
public interface ModelRegistry {
    /**
     * Stores an adapter; the same bytes give the same version, whoever stores them.
     *
     * @param base model name
     * @param baseHash hash of its weights, as the decoder says
     * @param kind {@code sft}, {@code grpo} or {@code multistep}
     * @param parent version that the training began from
     * @param run id of the training run
     */
    ModelVersion publish(
            LoraFiles files, String base, String baseHash, String kind, @Nullable String parent, String run, long step);

    /**
     * Has the solver service answer under a name with this version: written down in the registry first, then loaded at
     * the service, so that its replicas and its later starts know the name too. Serving the same version again changes
     * nothing. Not for names that are promoted.
     *
     * @param name of the model as requests give it, such as {@code trn_…-policy}
     * @throws PlatformException UNKNOWN_MODEL for no such version; SOLVER_UNAVAILABLE when the service does not answer;
     *     INVALID_FIELD for an adapter that does not fit the base model
     */
    void serve(String version, String name);

    /**
     * A version's adapter.
     *
     * @throws PlatformException NOT_FOUND for no such version
     */
    LoraFiles files(String version);

    /** Ends what {@link #serve} began; unknown names are fine. */
    void withdraw(String name);
}
