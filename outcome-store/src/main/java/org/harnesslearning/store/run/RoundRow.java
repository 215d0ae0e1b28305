package org.harnesslearning.store.run;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A round as stored.
 *
 * @param round 1, 2, 3, …
 * @param parent hash of the harness that is edited
 * @param report the parent's feedback score
 * @param reportText the report as the proposer reads it
 * @param chosen hash of the harness that goes on; null before the selection
 */
public record RoundRow(
        int round,
        String parent,
        @Nullable JsonNode report,
        @Nullable String reportText,
        @Nullable String chosen) {}
