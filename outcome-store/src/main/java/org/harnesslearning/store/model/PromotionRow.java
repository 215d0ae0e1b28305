package org.harnesslearning.store.model;

import com.fasterxml.jackson.annotation.JsonValue;
import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * An evaluation of a version for a name.
 *
 * @param id {@code prm_…}
 * @param candidate version that may be promoted
 * @param serving version that the name had at the start; null: the base model
 * @param runs revisions that were asked for, by family, seed and side
 * @param decision figures, once there are some
 */
public record PromotionRow(
        String id,
        String name,
        String base,
        String candidate,
        @Nullable String serving,
        State state,
        @Nullable String message,
        JsonNode settings,
        JsonNode runs,
        @Nullable JsonNode decision,
        @Nullable String createdBy,
        Instant createdAt,
        @Nullable Instant finishedAt,
        long version) {
    /** Where it stands. */
    public enum State {
        QUEUED,
        RUNNING,
        PROMOTED,
        REFUSED,
        FAILED;

        /** Whether nothing follows. */
        public boolean terminal() {
            return switch (this) {
                case PROMOTED, REFUSED, FAILED -> true;
                case QUEUED, RUNNING -> false;
            };
        }

        /** Name in JSON and in the table, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
