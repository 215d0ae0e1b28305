package org.harnesslearning.proposer.run;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.task.ScorerRef;
import org.jspecify.annotations.Nullable;

/**
 * What a run's job needs beside its settings, fixed when the run is made, so that an upgrade in its middle changes
 * nothing.
 *
 * @param description the task, as the proposer reads it
 * @param family built-in family, if the task is one
 * @param proposer null for evaluations
 * @param solverHash hash of model and decoding, and of image and tools where there are some
 * @param demonstrations earlier turns in rotation order; empty for none
 * @param report structured report given with a revision request; null where the run makes its own
 * @param origin the request that ordered the run; null in rows of earlier versions
 * @param kit image and tools of the task, as they were offered then; null for none
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record RunPlan(
        String description,
        @Nullable String family,
        ScorerRef scorer,
        @Nullable ModelInfo proposer,
        ModelInfo solver,
        String solverHash,
        List<Demonstrated> demonstrations,
        @Nullable List<QuestionResult> report,
        @Nullable Origin origin,
        @Nullable SandboxKit kit) {
    /**
     * A demonstration.
     *
     * @param harness hash of the harness that it ends with
     */
    public record Demonstrated(String name, String harness) {}

    /**
     * Where a run comes from.
     *
     * @param trace headers of the trace (W3C {@code traceparent}); empty where requests are not traced
     */
    public record Origin(@Nullable String requestId, Map<String, String> trace) {
        public Origin {
            trace = Map.copyOf(trace);
        }
    }

    public RunPlan {
        demonstrations = List.copyOf(demonstrations);
        report = report == null ? null : List.copyOf(report);
    }
}
