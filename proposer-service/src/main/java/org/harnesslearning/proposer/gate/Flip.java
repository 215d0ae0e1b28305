package org.harnesslearning.proposer.gate;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.harnesslearning.contracts.task.Split;
import org.jspecify.annotations.Nullable;

/**
 * A question that the starting harness got wholly right and the result does not.
 *
 * @param item its hash
 * @param id the user's name for it; never for held-out questions
 * @param regression whether it belongs to the regression set
 * @param before score of the starting harness, 1
 * @param after score of the result, below 1
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Flip(String item, Split split, @Nullable String id, boolean regression, double before, double after) {}
