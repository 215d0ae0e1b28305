package org.harnesslearning.store.run;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.Usage;
import org.jspecify.annotations.Nullable;

/** One question's result as the run keeps it: without traces, which stay with the executor's own rows. */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record MeasuredQuestion(
        String itemHash,
        QuestionCode code,
        double score,
        boolean strict,
        @Nullable String answer,
        @Nullable HarnessError error,
        Usage usage) {
    /** Leaves out the trace. */
    public static MeasuredQuestion of(QuestionResult result) {
        return new MeasuredQuestion(
                result.itemHash(),
                result.code(),
                result.score(),
                result.strict(),
                result.answer(),
                result.error(),
                result.usage());
    }
}
