package org.harnesslearning.trainer.run;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The effective request of a training run, as stored and shown.
 *
 * @param method settings of the method, all defaults filled in
 * @param checkpointEvery steps between checkpoints
 * @param parent version that the training begins from
 */
record RunSettings(
        TrainingKind kind,
        @Nullable String name,
        String baseModel,
        List<String> families,
        JsonNode method,
        TrainingContext.Budget budget,
        long seed,
        int checkpointEvery,
        @Nullable String parent,
        Map<String, String> labels) {
    RunSettings {
        families = List.copyOf(families);
        labels = Map.copyOf(labels);
    }
}
