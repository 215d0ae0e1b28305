package org.harnesslearning.store.run;

import java.time.Instant;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A run as stored.
 *
 * @param id such as {@code adp_…}
 * @param harnessKind {@code program}; later also {@code overlay}
 * @param taskKind {@code reasoning_gym}, {@code items}
 * @param taskName family or task id
 * @param wanted not yet obeyed request of the user
 * @param message one sentence for a person: why it paused or failed
 * @param settings effective request, items replaced by hashes and counts
 * @param plan what the job needs beside the settings
 * @param recorded whether a model's replies come from a file
 * @param activeMs wall clock spent working
 * @param repeated calls made twice because a kill came between call and commit
 * @param version grows with every change
 */
public record RunRow(
        String id,
        RunKind kind,
        String harnessKind,
        String taskKind,
        String taskName,
        RunState state,
        @Nullable Wanted wanted,
        @Nullable String stopReason,
        @Nullable String message,
        JsonNode settings,
        JsonNode plan,
        String seedHarness,
        boolean recorded,
        @Nullable JsonNode result,
        @Nullable String lineageHash,
        @Nullable String createdBy,
        Instant createdAt,
        @Nullable Instant finishedAt,
        long activeMs,
        long repeated,
        long plannedCalls,
        long doneCalls,
        long version) {}
