package org.harnesslearning.store.harness;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A version under a name.
 *
 * @param version counts from 1 for each name
 * @param harness hash of the harness
 * @param adaptation id of the run that found it
 */
public record HarnessVersion(
        int version,
        String harness,
        @Nullable String adaptation,
        @Nullable String note,
        @Nullable String createdBy,
        Instant createdAt) {}
