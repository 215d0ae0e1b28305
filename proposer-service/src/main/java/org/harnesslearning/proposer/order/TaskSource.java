package org.harnesslearning.proposer.order;

import java.util.Map;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.tasks.Family;
import org.harnesslearning.tasks.TaskItems;

/** Where a run's questions come from. */
sealed interface TaskSource {
    /** A built-in family. */
    record BuiltIn(Family family, long seed, Map<String, Object> config) implements TaskSource {}

    /** A stored task. */
    record Stored(String id, String description, ScorerRef scorer, TaskItems items) implements TaskSource {}

    /** A task in the request itself. */
    record Inline(String description, ScorerRef scorer, TaskItems items) implements TaskSource {}
}
