package org.harnesslearning.proposer.adaptation;

import java.util.List;
import org.harnesslearning.proposer.settings.RunSettings;
import org.jspecify.annotations.Nullable;

/** Which harness goes on after a round, from dev means alone. */
final class SelectionRule {
    private SelectionRule() {}

    /**
     * A scored candidate.
     *
     * @param index within the round
     * @param harness its hash
     */
    record Scored(int index, String harness, double mean) {}

    /**
     * The choice. Ties go to the incumbent first, then to the lowest index; without a scored candidate the incumbent
     * stays under both rules.
     *
     * @param incumbent hash of the harness that the round edited
     * @param incumbentMean its dev mean
     * @param candidates scored candidates in index order
     */
    static String choose(RunSettings.Selection rule, String incumbent, double incumbentMean, List<Scored> candidates) {
        Scored best = null;
        for (Scored candidate : candidates) {
            if (best == null || candidate.mean() > best.mean()) {
                best = candidate;
            }
        }
        return switch (rule) {
            case KEEP_INCUMBENT -> better(best, incumbentMean) ? hash(best, incumbent) : incumbent;
            case BEST_OF_ROUND -> hash(best, incumbent);
        };
    }

    private static boolean better(@Nullable Scored best, double incumbentMean) {
        return best != null && best.mean() > incumbentMean;
    }

    private static String hash(@Nullable Scored best, String incumbent) {
        return best == null ? incumbent : best.harness();
    }
}
