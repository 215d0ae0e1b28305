package org.harnesslearning.gateway.page;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A revision or an evaluation as a list of the API answers it, as far as pages show it. */
record OrderAnswer(
        String id,
        String state,
        @Nullable String message,
        RunAnswer.Settings settings,
        Instant createdAt,
        RunAnswer.@Nullable Progress progress,
        RunAnswer.@Nullable Counts counts,
        RunAnswer.@Nullable Score score,
        boolean recorded,
        RunAnswer.@Nullable Usage usage) {
    /** Answer of the list. */
    record Listed(List<OrderAnswer> data, @Nullable String nextCursor) {}

    /** Whether it has ended. */
    public boolean over() {
        return RunAnswer.ENDS.contains(state);
    }
}
