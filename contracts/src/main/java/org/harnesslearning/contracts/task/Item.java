package org.harnesslearning.contracts.task;

import com.fasterxml.jackson.annotation.JsonInclude;
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
 * @param mark what its user said of it beside question and answer, null where nothing
 */
public record Item(
        String hash,
        String question,
        List<String> answers,
        @Nullable Origin origin,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable Mark mark) {
    /** Place of a generated item: deterministic in (family, configuration, seed, index). */
    public record Origin(long seed, int index) {}

    /**
     * What a user says of an item of an own task.
     *
     * @param id the user's own name for it
     * @param group the user's name for a group of items, for reports
     * @param regression whether a result that gets it wrong fails the gate, where the starting harness got it right
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Mark(@Nullable String id, @Nullable String group, boolean regression) {}

    public Item {
        answers = List.copyOf(answers);
        if (answers.isEmpty()) {
            throw new IllegalArgumentException("an item has at least one answer");
        }
        if (!hash.equals(Hashes.item(question))) {
            throw new IllegalArgumentException("hash is not that of the question");
        }
    }

    /** An item that nothing was said of. */
    public Item(String hash, String question, List<String> answers, @Nullable Origin origin) {
        this(hash, question, answers, origin, null);
    }

    /** An item of a user's own task. */
    public static Item of(String question, List<String> answers) {
        return new Item(Hashes.item(question), question, answers, null);
    }
}
