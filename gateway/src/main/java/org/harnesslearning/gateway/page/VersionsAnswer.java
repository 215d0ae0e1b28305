package org.harnesslearning.gateway.page;

import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A name of the model registry with its versions, changes and promotions, as the API answers it. */
record VersionsAnswer(
        String name,
        String base,
        @Nullable String serving,
        List<Version> data,
        @Nullable List<Change> history,
        @Nullable List<Promotion> promotions) {
    record Version(
            String id,
            String kind,
            @Nullable String parent,
            @Nullable String run,
            long step,
            long bytes,
            Instant createdAt) {}

    record Change(
            @Nullable String version,
            @Nullable String previous,
            String action,
            boolean forced,
            @Nullable String promotion,
            @Nullable String reason,
            @Nullable String changedBy,
            Instant at) {}

    record Promotion(
            String id,
            String candidate,
            @Nullable String serving,
            String state,
            @Nullable String message,
            @Nullable Decision decision,
            Instant createdAt,
            @Nullable Instant finishedAt) {}

    /** What a promotion was decided on. */
    record Decision(
            String verdict,
            RunAnswer.@Nullable Gain gain,
            double minGain,
            int questions,
            Side candidate,
            Side serving,
            List<Family> families,
            boolean recorded) {}

    record Side(double mean, double validRate, int replies) {}

    record Family(String family, int questions, double candidate, double serving, double gain) {}

    /** Whether the name serves a version. */
    public boolean serves(Version version) {
        return Objects.equals(serving, version.id());
    }
}
