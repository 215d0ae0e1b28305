package org.harnesslearning.solver.inference;

import java.util.List;
import java.util.Optional;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ModelInfo;

/** Looks up names that are neither configured nor loaded. Thread-safe. */
public interface ModelFinder {
    /** Knows no names. */
    ModelFinder NONE = new ModelFinder() {
        @Override
        public Optional<Found> find(String name) {
            return Optional.empty();
        }

        @Override
        public List<ModelInfo> names() {
            return List.of();
        }
    };

    /**
     * A model that was found.
     *
     * @param info of the name that was asked for
     */
    record Found(ModelBackend backend, ModelInfo info) {}

    /**
     * The model of a name, loaded if needed.
     *
     * @throws PlatformException when there is such a model and it can't be loaded, or when that can't be told now
     */
    Optional<Found> find(String name);

    /** All names, as far as they can be told now. */
    List<ModelInfo> names();
}
