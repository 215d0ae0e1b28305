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
            @Nullable Integer maxModelLen) {}

    @GetMapping("/models")
    Map<String, Object> models() {
        List<Model> data = new ArrayList<>();
        for (ModelInfo info : catalog.all()) {
            data.add(new Model(
                    info.id(),
                    info.kind(),
                    info.identity(),
                    List.of("proposer", "solver"),
                    info.id().equals(properties.defaultModel()),
                    info.weightsHash(),
                    info.numberType(),
                    info.maxModelLen()));
        }
        return Map.of("data", data);
    }
}
