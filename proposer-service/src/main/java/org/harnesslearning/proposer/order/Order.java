package org.harnesslearning.proposer.order;

import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SolverSettings;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.prompt.Demonstration;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.tasks.SplitSizes;
import org.jspecify.annotations.Nullable;

/**
 * A request without field faults, before its items are resolved.
 *
 * @param kit what its sandboxes have, as it is offered now
 * @param sizes null where the request names no numbers of questions
 * @param harness source
 * @param baseline source of the harness that an evaluation compares with
 * @param regression hashes or users' ids of items that must not flip to wrong
 */
record Order(
        TaskSource task,
        SandboxKit kit,
        String harness,
        @Nullable SplitSizes sizes,
        @Nullable Integer candidates,
        @Nullable Integer rounds,
        RunSettings.@Nullable Selection selection,
        RunSettings.@Nullable Proposer proposer,
        @Nullable ModelInfo proposerModel,
        List<Demonstration> demonstrations,
        @Nullable List<QuestionResult> report,
        @Nullable Boolean evaluate,
        @Nullable Split split,
        @Nullable Integer repeat,
        @Nullable String baseline,
        SolverSettings solver,
        ModelInfo solverModel,
        Limits limits,
        RunSettings.Budget budget,
        RunSettings.@Nullable Gate gate,
        List<String> regression,
        long seed,
        Map<String, String> labels,
        boolean allowMissingHeldOut) {}
