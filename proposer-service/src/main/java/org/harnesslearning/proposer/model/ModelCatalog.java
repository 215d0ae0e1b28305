package org.harnesslearning.proposer.model;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.model.ModelInfo;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;

/** The models of the model endpoint. */
@Component
public class ModelCatalog {
    private final ModelApi models;

    ModelCatalog(ModelApi models) {
        this.models = models;
    }

    /**
     * All models.
     *
     * @throws PlatformException SOLVER_UNAVAILABLE when the endpoint does not answer
     */
    public List<ModelInfo> all() {
        try {
            return models.models().data();
        } catch (RestClientException e) {
            throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "The model endpoint can't be reached", e);
        }
    }

    /** A model by name. */
    public Optional<ModelInfo> find(String name) {
        return all().stream().filter(model -> model.id().equals(name)).findFirst();
    }

    /** All models by name, in a map that may be changed. */
    public Map<String, ModelInfo> byName() {
        Map<String, ModelInfo> byName = new LinkedHashMap<>();
        all().forEach(model -> byName.putIfAbsent(model.id(), model));
        return byName;
    }

    /**
     * What a name of a request stands for now, under the name that stands for exactly that for ever: a name of the model
     * registry becomes {@code name@sha256:…}. Such a name may be asked for itself.
     *
     * @param known as {@link #byName} gave it
     * @return empty for no such model
     */
    public Optional<ModelInfo> pinned(String name, Map<String, ModelInfo> known) {
        ModelInfo info = known.get(name);
        if (info != null) {
            return Optional.of(info.as(info.pinned()));
        }
        if (ModelInfo.unpinned(name).equals(name)) {
            return Optional.empty();
        }
        try {
            return Optional.of(models.model(name));
        } catch (PlatformException e) {
            if (e.code() == ErrorCode.UNKNOWN_MODEL || e.code() == ErrorCode.NOT_FOUND) {
                return Optional.empty();
            }
            throw e;
        } catch (RestClientException e) {
            throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "The model endpoint can't be reached", e);
        }
    }
}
