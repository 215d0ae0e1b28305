package org.harnesslearning.tasks;

import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.jspecify.annotations.Nullable;

/**
 * One item of a user's task as it was given.
 *
 * @param pointer JSON Pointer to it in the request
 * @param id the user's own name for it, at most 200 characters
 * @param question never blank
 * @param answers accepted answers, at least one
 * @param split null: by the hash of the question
 * @param metadata only its text {@code group} is read, as the item's group in reports
 * @param regression whether the item must not flip from right to wrong
 */
public record OwnItem(
        String pointer,
        @Nullable String id,
        String question,
        List<String> answers,
        @Nullable Split split,
        Map<String, Object> metadata,
        boolean regression) {
    private static final int MAX_GROUP = 100;

    /** What the user said of it, null where nothing. */
    Item.@Nullable Mark mark() {
        String group = metadata.get("group") instanceof String text && !text.isBlank() && text.length() <= MAX_GROUP
                ? text
                : null;
        return id == null && group == null && !regression ? null : new Item.Mark(id, group, regression);
    }

    public OwnItem {
        answers = List.copyOf(answers);
        metadata = Map.copyOf(metadata);
    }
}
