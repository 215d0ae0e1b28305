package org.harnesslearning.proposer.model;

import java.util.List;
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
}
