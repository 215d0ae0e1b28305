package org.harnesslearning.proposer.gate;

import java.util.List;
import org.harnesslearning.tasks.statistics.Gate;
import org.jspecify.annotations.Nullable;

/**
 * What a gate says.
 *
 * @param reasons why it failed, one sentence each
 * @param flips all questions that went from right to wrong, whether or not there is a gate
 * @param regression null where the run has no regression set
 */
public record Verdict(
        Gate gate,
        List<String> reasons,
        List<Flip> flips,
        @Nullable Regression regression) {
    /**
     * The regression set.
     *
     * @param items how many it has
     * @param flipped how many of them went from right to wrong
     * @param unmeasured how many of them the run did not come to
     */
    public record Regression(int items, int flipped, int unmeasured) {}

    public Verdict {
        reasons = List.copyOf(reasons);
        flips = List.copyOf(flips);
    }
}
