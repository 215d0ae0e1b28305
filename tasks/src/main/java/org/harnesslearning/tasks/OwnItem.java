package org.harnesslearning.tasks;

import java.util.List;
import java.util.Map;
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
 * @param metadata kept, never read
 */
public record OwnItem(
        String pointer,
        @Nullable String id,
        String question,
        List<String> answers,
        @Nullable Split split,
        Map<String, Object> metadata) {
    public OwnItem {
        answers = List.copyOf(answers);
        metadata = Map.copyOf(metadata);
    }
}
