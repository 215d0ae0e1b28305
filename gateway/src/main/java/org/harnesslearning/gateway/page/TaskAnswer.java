package org.harnesslearning.gateway.page;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A task as the API answers it. */
record TaskAnswer(
        String id,
        @Nullable String kind,
        @Nullable String name,
        @Nullable String category,
        @Nullable String role,
        String description,
        @Nullable JsonNode scorer,
        @Nullable Map<String, Part> splits,
        @Nullable Instant createdAt) {
    /** Answer of the list. */
    record Listed(List<TaskAnswer> data) {}

    /**
     * A split.
     *
     * @param items null where the caller may not see them
     */
    record Part(
            int count,
            @Nullable List<String> hashes,
            @Nullable List<Question> items) {}

    record Question(String question, List<String> answer) {}

    /** Whether a user brought it. */
    public boolean own() {
        return id.startsWith("tsk_");
    }

    /** What to call it. */
    public String title() {
        return name == null || name.isBlank() ? id : name;
    }

    /** Name of the scorer. */
    public String scorerName() {
        if (scorer == null || scorer.isNull()) {
            return "";
        }
        return scorer.isString() ? scorer.asString() : scorer.path("name").asString("");
    }
}
