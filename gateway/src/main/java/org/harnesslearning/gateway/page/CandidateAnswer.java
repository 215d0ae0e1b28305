package org.harnesslearning.gateway.page;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A candidate with its reply, diff and results, as the API answers it. */
record CandidateAnswer(
        int round,
        int index,
        @Nullable String outcome,
        @Nullable String code,
        @Nullable String message,
        @Nullable String tier,
        @Nullable String harness,
        @Nullable JsonNode duplicateOf,
        RunAnswer.@Nullable Score score,
        @Nullable String demonstration,
        @Nullable Double similarity,
        RunAnswer.@Nullable RoleUsage usage,
        @Nullable String reply,
        @Nullable String finishReason,
        @Nullable String diff,
        @Nullable String model,
        List<Question> questions) {

    record Question(
            String itemHash,
            String code,
            double score,
            boolean strict,
            @Nullable String answer,
            @Nullable Fault error,
            RunAnswer.@Nullable RoleUsage usage) {}

    record Fault(String type, String message, List<Frame> frames) {}

    record Frame(int line, String function, String text) {}

    /** The candidate whose score this one shares; empty for none. */
    public String twin() {
        return duplicateOf == null || duplicateOf.isNull() ? "" : duplicateOf.asString();
    }
}
