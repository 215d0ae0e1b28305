package org.harnesslearning.proposer.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.proposer.ProposerProperties;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** {@code GET /models}. */
@RestController
class ModelController {
    private final ModelCatalog catalog;
    private final ProposerProperties properties;

    ModelController(ModelCatalog catalog, ProposerProperties properties) {
        this.catalog = catalog;
        this.properties = properties;
    }

    /**
     * A model as clients see it.
     *
     * @param kind where its replies come from, and so where it runs
     * @param version hash of all that changes its replies but the decoding settings
     * @param roles what it may be
     * @param base names of the model registry and loaded adapters only: the model that is adapted
     * @param adapter names of the model registry only: the version that serves now; {@code base} where it is the base model
     * @param standard whether requests that name no model get this one
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Model(
            String id,
            ModelInfo.Kind kind,
            String version,
            List<String> roles,
            @JsonProperty("default") boolean standard,
            @Nullable String weightsHash,
            @Nullable String numberType,
            @Nullable Integer maxModelLen,
            @Nullable String base,
            @Nullable String adapter) {}

    @GetMapping("/models")
    Map<String, Object> models() {
        List<Model> data = new ArrayList<>();
        for (ModelInfo info : catalog.all()) {
            if (info.id().startsWith("sha256:")) {
                continue; // a loaded version of the registry, shown by the names that stand for it
            }
            data.add(new Model(
                    info.id(),
                    info.kind(),
                    info.identity(),
                    List.of("proposer", "solver"),
                    info.id().equals(properties.defaultModel()),
                    info.weightsHash(),
                    info.numberType(),
                    info.maxModelLen(),
                    info.parent(),
                    info.version()));
        }
        return Map.of("data", data);
    }
}
