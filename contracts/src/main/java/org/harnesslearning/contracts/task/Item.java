package org.harnesslearning.contracts.task;

import java.util.List;
import org.harnesslearning.contracts.hash.Hashes;
import org.jspecify.annotations.Nullable;

/**
 * One question with its accepted answers.
 *
 * @param hash {@link Hashes#item(String)} of the question
 * @param question text given to the harness
 * @param answers accepted answers, at least one; for Reasoning Gym the gold answer
 * @param origin for generated items where they come from, so that the scorer can rebuild the whole entry; else null
 */
public record Item(
        String hash,
        String question,
        List<String> answers,
        @Nullable Origin origin) {
    /** Place of a generated item: deterministic in (family, configuration, seed, index). */
    public record Origin(long seed, int index) {}

    public Item {
        answers = List.copyOf(answers);
        if (answers.isEmpty()) {
            throw new IllegalArgumentException("an item has at least one answer");
        }
        if (!hash.equals(Hashes.item(question))) {
            throw new IllegalArgumentException("hash is not that of the question");
        }
    }

    /** An item of a user's own task. */
    public static Item of(String question, List<String> answers) {
        return new Item(Hashes.item(question), question, answers, null);
    }
}
