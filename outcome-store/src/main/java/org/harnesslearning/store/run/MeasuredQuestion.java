package org.harnesslearning.store.run;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Objects;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.Usage;
import org.jspecify.annotations.Nullable;

/**
 * One question's result as the run keeps it: without traces, which stay with the executor's own rows.
 *
 * @param sandboxGaps names of protections that the executor's host lacked and its settings accepted
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record MeasuredQuestion(
        String itemHash,
        QuestionCode code,
        double score,
        boolean strict,
        @Nullable String answer,
        @Nullable HarnessError error,
        Usage usage,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> sandboxGaps) {
    public MeasuredQuestion {
        // Results of earlier versions have none.
        sandboxGaps = List.copyOf(Objects.requireNonNullElse(sandboxGaps, List.of()));
    }

    /** On a sound host. */
    public MeasuredQuestion(
            String itemHash,
            QuestionCode code,
            double score,
            boolean strict,
            @Nullable String answer,
            @Nullable HarnessError error,
            Usage usage) {
        this(itemHash, code, score, strict, answer, error, usage, List.of());
    }

    /** Without answer and exception, which may quote the question. */
    public MeasuredQuestion withoutAnswer() {
        return new MeasuredQuestion(itemHash, code, score, strict, null, null, usage, sandboxGaps);
    }

    /** Leaves out the trace; on a sound host. */
    public static MeasuredQuestion of(QuestionResult result) {
        return of(result, List.of());
    }

    /** Leaves out the trace. */
    public static MeasuredQuestion of(QuestionResult result, List<String> sandboxGaps) {
        return new MeasuredQuestion(
                result.itemHash(),
                result.code(),
                result.score(),
                result.strict(),
                result.answer(),
                result.error(),
                result.usage(),
                sandboxGaps);
    }
}
