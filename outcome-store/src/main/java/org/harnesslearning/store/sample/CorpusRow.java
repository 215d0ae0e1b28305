package org.harnesslearning.store.sample;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Locale;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;

/**
 * A teacher's edit as stored.
 *
 * @param position in the corpus
 * @param run the revision whose candidate it is
 * @param harness hash of the harness that was edited
 * @param demonstration earlier turn that the teacher saw; no part of the training prompt
 * @param messages the training prompt; null where it was not rendered, since the edit is rejected
 * @param continued whether the last message is the beginning of the reply
 * @param promptTokenIds in the tokens of the model to be trained
 * @param completionTokenIds with the token that ends the turn
 * @param diffHash of the normalised diff; null without one
 * @param noise absolute difference of two scorings of the parent
 * @param reason why it is rejected, lower case; null where it is accepted
 * @param fold null where it is rejected
 */
public record CorpusRow(
        long position,
        String run,
        int round,
        int candidate,
        String family,
        String harness,
        String teacher,
        @Nullable String demonstration,
        String promptVersion,
        String reportVersion,
        String descriptionsVersion,
        @Nullable List<ChatRequest.Message> messages,
        boolean continued,
        @Nullable String reply,
        @Nullable List<Integer> promptTokenIds,
        @Nullable List<Integer> completionTokenIds,
        @Nullable String diffHash,
        @Nullable Double score,
        @Nullable Double parentScore,
        @Nullable Double noise,
        @Nullable String reason,
        @Nullable Fold fold) {
    /** What an accepted edit is for. */
    public enum Fold {
        TRAIN,
        /** Never trained on: its loss decides when to stop. */
        HELD_OUT;

        /** Name in JSON and in the table, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public CorpusRow {
        messages = messages == null ? null : List.copyOf(messages);
        promptTokenIds = promptTokenIds == null ? null : List.copyOf(promptTokenIds);
        completionTokenIds = completionTokenIds == null ? null : List.copyOf(completionTokenIds);
    }

    /** Whether it is part of the training data. */
    public boolean accepted() {
        return reason == null;
    }
}
