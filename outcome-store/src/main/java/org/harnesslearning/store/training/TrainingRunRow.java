package org.harnesslearning.store.training;

import java.time.Instant;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.Wanted;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A training run as stored.
 *
 * @param id {@code trn_…}
 * @param kind {@code sft}, {@code grpo} or {@code multistep}
 * @param wanted not yet obeyed request of the user
 * @param message one sentence for a person: why it paused or failed
 * @param activeMs wall clock of the steps that count
 * @param step last committed step
 * @param planned most steps
 * @param version grows with every change
 */
public record TrainingRunRow(
        String id,
        String kind,
        @Nullable String name,
        String baseModel,
        RunState state,
        @Nullable Wanted wanted,
        @Nullable String stopReason,
        @Nullable String message,
        JsonNode settings,
        @Nullable JsonNode result,
        @Nullable String createdBy,
        Instant createdAt,
        @Nullable Instant startedAt,
        @Nullable Instant finishedAt,
        long activeMs,
        long step,
        long planned,
        long version) {}
