package org.harnesslearning.store.task;

import java.time.Instant;
import org.harnesslearning.contracts.task.ScorerRef;
import org.jspecify.annotations.Nullable;

/**
 * A task that a user gave.
 *
 * @param id such as {@code tsk_…}
 * @param kind {@link #ITEMS}
 */
public record TaskRow(
        String id,
        String kind,
        @Nullable String name,
        String description,
        ScorerRef scorer,
        @Nullable String createdBy,
        Instant createdAt) {
    /** Kind of a task that is a set of independent questions. */
    public static final String ITEMS = "items";
}
