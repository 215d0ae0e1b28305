package org.harnesslearning.gateway.page;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** One question as one harness answered it; texts are null where the caller may not see them. */
record QuestionAnswer(
        String itemHash,
        String split,
        String harness,
        int repeat,
        String code,
        double score,
        boolean strict,
        RunAnswer.@Nullable RoleUsage usage,
        @Nullable String question,
        @Nullable List<String> expected,
        @Nullable String answer,
        CandidateAnswer.@Nullable Fault error,
        @Nullable Trace trace) {
    record Trace(
            String stdout,
            String stderr,
            List<String> log,
            List<Call> calls,
            List<Python> pythonRuns,
            @Nullable List<ToolCall> toolCalls) {}

    record Call(
            List<Message> messages,
            @Nullable String reply,
            @Nullable String finishReason,
            @Nullable String error,
            int promptTokens,
            int completionTokens,
            long ms) {}

    record Message(String role, String content) {}

    record Python(
            String code,
            String stdout,
            String stderr,
            @Nullable String error) {}

    record ToolCall(
            String tool,
            String arguments,
            @Nullable String result,
            @Nullable String error,
            @Nullable Integer status,
            long ms) {}

    /** Whether texts were withheld. */
    public boolean withheld() {
        return question == null && trace == null;
    }
}
