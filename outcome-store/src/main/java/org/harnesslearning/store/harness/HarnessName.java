package org.harnesslearning.store.harness;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A name of a harness.
 *
 * @param live version that is live; null before the first promotion
 * @param changes grows with every change
 */
public record HarnessName(
        String name,
        @Nullable Integer live,
        long changes,
        @Nullable String createdBy,
        Instant createdAt) {}
