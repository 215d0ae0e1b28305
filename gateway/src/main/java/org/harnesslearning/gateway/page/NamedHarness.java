package org.harnesslearning.gateway.page;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A named harness as the API answers it. */
record NamedHarness(
        String name,
        @Nullable Version live,
        @Nullable String createdBy,
        Instant createdAt,
        @Nullable List<Version> versions) {
    /** Answer of the list. */
    record Listed(List<NamedHarness> data, @Nullable String nextCursor) {}

    record Version(
            int version,
            String harness,
            @Nullable String adaptation,
            @Nullable String note,
            @Nullable String createdBy,
            Instant createdAt) {}

    /** Answer of the history. */
    record History(List<Change> data) {}

    record Change(
            long id,
            String action,
            int version,
            @Nullable Integer before,
            boolean forced,
            @Nullable String note,
            @Nullable String createdBy,
            Instant createdAt) {}

    /** A program. */
    record Source(String hash, String source) {}

    /** Whether this version is what agents load. */
    public boolean isLive(Version version) {
        return live != null && live.version() == version.version();
    }
}
