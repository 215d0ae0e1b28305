package org.harnesslearning.tasks;

import org.harnesslearning.contracts.task.Item;
import org.jspecify.annotations.Nullable;

/** Compares one answer with an item. Thread-safe; gives the same score for the same item and answer. */
@FunctionalInterface
public interface Scorer {
    /**
     * Scores an answer; blocks where the scorer works outside this process. Any text is a possible answer: junk is worth
     * 0 and never an exception.
     *
     * @param item the question with its accepted answers
     * @param answer what the harness returned, stripped
     * @throws ScoringException when no score could be found for reasons that do not lie in the answer
     */
    Score score(Item item, String answer);

    /**
     * Why an item can't be scored, such as an accepted answer that is no number; null when it can. Asked once, when a
     * task is stored.
     */
    default @Nullable String fault(Item item) {
        return null;
    }
}
