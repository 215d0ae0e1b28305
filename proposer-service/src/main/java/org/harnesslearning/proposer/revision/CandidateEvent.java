package org.harnesslearning.proposer.revision;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.CandidateScore;
import org.jspecify.annotations.Nullable;

/** Data of the event {@code candidate.finished}: the candidate within its round, as in the resource. */
final class CandidateEvent {
    private CandidateEvent() {}

    static Map<String, Object> of(
            CandidateRow candidate,
            CandidateOutcome outcome,
            @Nullable OutcomeCode code,
            @Nullable String message,
            @Nullable String duplicateOf,
            @Nullable CandidateScore score) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("index", candidate.candidate());
        fields.put("outcome", outcome);
        put(fields, "code", code);
        put(fields, "message", message);
        put(fields, "duplicate_of", duplicateOf);
        if (score != null) {
            fields.put(
                    "score",
                    Map.of(
                            "mean",
                            score.mean(),
                            "strict",
                            score.strict(),
                            "n",
                            score.scores().size()));
        }
        return Map.of("rounds", List.of(Map.of("index", candidate.round(), "candidates", List.of(fields))));
    }

    private static void put(Map<String, Object> fields, String name, @Nullable Object value) {
        if (value != null) {
            fields.put(name, value);
        }
    }
}
