package org.harnesslearning.gateway.page;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A model as the API answers it. */
record ModelAnswer(
        String id,
        String kind,
        @Nullable String version,
        @Nullable List<String> roles,
        @JsonProperty("default") boolean standard,
        @Nullable String weightsHash,
        @Nullable String numberType,
        @Nullable Integer maxModelLen,
        @Nullable String base,
        @Nullable String adapter) {
    /** Whether it is a name of the model registry, which serves one version of an adapter or its base. */
    public boolean named() {
        return adapter != null;
    }

    /** Answer of the list. */
    record Listed(List<ModelAnswer> data) {}
}
