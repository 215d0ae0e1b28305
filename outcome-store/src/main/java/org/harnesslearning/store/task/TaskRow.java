package org.harnesslearning.store.task;

import java.time.Instant;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.TaskSandbox;
import org.jspecify.annotations.Nullable;

/**
 * A task that a user gave.
 *
 * @param id such as {@code tsk_…}
 * @param kind {@link #ITEMS}
 * @param sandbox image and tools that it names; null for none
 */
public record TaskRow(
        String id,
        String kind,
        @Nullable String name,
        String description,
        ScorerRef scorer,
        @Nullable TaskSandbox sandbox,
        @Nullable String createdBy,
        Instant createdAt) {
    /** Kind of a task that is a set of independent questions. */
    public static final String ITEMS = "items";
}
