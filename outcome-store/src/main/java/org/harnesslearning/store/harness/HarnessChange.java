package org.harnesslearning.store.harness;

import com.fasterxml.jackson.annotation.JsonValue;
import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A change of what is live under a name.
 *
 * @param id counts from 1 for each name
 * @param version what became live
 * @param before what was live; null for the first
 * @param forced whether a gate was overridden
 */
public record HarnessChange(
        int id,
        Action action,
        int version,
        @Nullable Integer before,
        boolean forced,
        @Nullable String note,
        @Nullable String createdBy,
        Instant createdAt) {
    /** What was done. */
    public enum Action {
        PROMOTED,
        ROLLED_BACK;

        /** Name in JSON and in the table, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
