package org.harnesslearning.store.model;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One change of a promoted name.
 *
 * @param change 1, 2, 3, … within the name
 * @param version null: the base model
 * @param previous what was served before; null: the base model
 * @param action {@code promote} or {@code rollback}
 * @param promotion id of the evaluation that justified it
 * @param changedBy id of the API key
 */
public record AliasChange(
        int change,
        @Nullable String version,
        @Nullable String previous,
        String action,
        boolean forced,
        @Nullable String promotion,
        @Nullable String reason,
        @Nullable String changedBy,
        Instant at) {}
