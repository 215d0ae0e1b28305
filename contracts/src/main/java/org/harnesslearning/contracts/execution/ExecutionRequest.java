package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.Split;
import org.jspecify.annotations.Nullable;

/**
 * Run one harness on items. Idempotent: sending it again attaches to the running work, and items whose result is
 * already stored under (harness, item, repeat, solver, scorer) are returned, never computed again.
 *
 * @param id names the work, such as {@code adp_…/r1/c0/dev/0}; at most 200 characters
 * @param runId the run whose budget row pays and to which calls are booked, such as {@code adp_…}
 * @param split what the items are; held-out questions are run one at a time a container
 * @param source the harness
 * @param repeat repeat of every item
 * @param solverHash {@link SolverSettings#hash(String)}, with image and tools {@link SandboxKit#answersHash}
 * @param lanes most containers (and so questions) at once
 * @param kit image and tools of the task; null for none
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record ExecutionRequest(
        String id,
        String runId,
        Split split,
        String source,
        List<Item> items,
        int repeat,
        ScorerRef scorer,
        SolverSettings solver,
        String solverHash,
        Limits limits,
        int lanes,
        @Nullable SandboxKit kit) {
    public ExecutionRequest {
        items = List.copyOf(items);
    }

    /** In the platform's own image, without tools. */
    public ExecutionRequest(
            String id,
            String runId,
            Split split,
            String source,
            List<Item> items,
            int repeat,
            ScorerRef scorer,
            SolverSettings solver,
            String solverHash,
            Limits limits,
            int lanes) {
        this(id, runId, split, source, items, repeat, scorer, solver, solverHash, limits, lanes, null);
    }
}
