package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What happened on one question; the commit unit of an evaluation.
 *
 * @param itemHash the question
 * @param repeat 0 for the first scoring, higher ones for A/A noise
 * @param score the scorer's value, 0 to 1
 * @param strict score is exactly 1.0
 * @param answer what {@code run} returned, stripped; null without one
 * @param error exception of the harness, if any
 * @param trace brokered calls, runs of {@code env.python} and {@code env.log} texts, in order of each kind
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record QuestionResult(
        String itemHash,
        int repeat,
        QuestionCode code,
        double score,
        boolean strict,
        @Nullable String answer,
        @Nullable HarnessError error,
        Trace trace,
        Usage usage) {

    /** The harness's own output and its use of {@code env}; absent tool calls are none. */
    public record Trace(
            String stdout,
            String stderr,
            List<String> log,
            List<ModelCall> calls,
            List<PythonRun> pythonRuns,
            @JsonInclude(JsonInclude.Include.NON_EMPTY) List<ToolCall> toolCalls) {
        public static final Trace EMPTY = new Trace("", "", List.of(), List.of(), List.of());

        public Trace {
            log = List.copyOf(log);
            calls = List.copyOf(calls);
            pythonRuns = List.copyOf(pythonRuns);
            // Results of earlier versions have none.
            toolCalls = List.copyOf(Objects.requireNonNullElse(toolCalls, List.of()));
        }

        /** Without calls of tools. */
        public Trace(
                String stdout, String stderr, List<String> log, List<ModelCall> calls, List<PythonRun> pythonRuns) {
            this(stdout, stderr, log, calls, pythonRuns, List.of());
        }
    }

    public QuestionResult {
        if (!(score >= 0 && score <= 1)) {
            throw new IllegalArgumentException("score " + score + " is not from 0 to 1");
        }
        if (code != QuestionCode.OK && score != 0) {
            throw new IllegalArgumentException("a question that ended with " + code + " scores 0");
        }
    }
}
