package org.harnesslearning.solver.inference;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;

/** All models of the endpoint by name. Immutable. */
public final class ModelRegistry {
    private final Map<String, ModelBackend> backends;

    public ModelRegistry(Map<String, ModelBackend> backends) {
        this.backends = new LinkedHashMap<>(backends);
    }

    /**
     * The back-end of a name.
     *
     * @throws PlatformException with {@code UNKNOWN_MODEL}
     */
    public ModelBackend get(String name) {
        ModelBackend backend = backends.get(name);
        if (backend == null) {
            throw PlatformException.field(
                    ErrorCode.UNKNOWN_MODEL,
                    "/model",
                    "No model '%s'; known: %s".formatted(name, String.join(", ", backends.keySet())));
        }
        return backend;
    }

    /** All back-ends in order of definition. */
    public Collection<ModelBackend> all() {
        return List.copyOf(backends.values());
    }
}
