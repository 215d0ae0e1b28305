package org.harnesslearning.contracts.model;

import java.util.List;

/** Answer of {@code GET /v1/models}. */
public record ModelList(String object, List<ModelInfo> data) {
    public ModelList {
        data = List.copyOf(data);
    }
}
