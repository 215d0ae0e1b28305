package org.harnesslearning.proposer.order;

import java.util.Map;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.TaskSandbox;
import org.harnesslearning.tasks.Family;
import org.harnesslearning.tasks.TaskItems;
import org.jspecify.annotations.Nullable;

/** Where a run's questions come from. */
sealed interface TaskSource {
    /** Image and tools that it names; null for none. */
    @Nullable
    TaskSandbox sandbox();

    /** A built-in family. */
    record BuiltIn(Family family, long seed, Map<String, Object> config) implements TaskSource {
        @Override
        public @Nullable TaskSandbox sandbox() {
            return null;
        }
    }

    /** A stored task. */
    record Stored(
            String id,
            String description,
            ScorerRef scorer,
            @Nullable TaskSandbox sandbox,
            TaskItems items) implements TaskSource {}

    /** A task in the request itself. */
    record Inline(
            String description, ScorerRef scorer, @Nullable TaskSandbox sandbox, TaskItems items)
            implements TaskSource {}
}
