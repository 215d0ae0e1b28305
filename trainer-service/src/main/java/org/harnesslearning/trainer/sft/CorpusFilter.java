package org.harnesslearning.trainer.sft;

import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.trainer.rollout.Answers;
import org.jspecify.annotations.Nullable;

/**
 * Which edits are good enough to learn from. Asked in the order of the corpus, since the first of equal edits is the one
 * that is kept.
 *
 * <p>An edit must have been found with at most a uniform shift of indentation, change a line, touch nothing protected,
 * pass the leak lint, run, gain more on the dev questions than two scorings of its parent differ by, be complete and not
 * too long, and be no duplicate.
 */
final class CorpusFilter {
    private static final Set<String> TIERS = Set.of("EXACT", "TRAILING_WS", "INDENT");

    private final double minGain;
    private final boolean overAll;
    private final Set<String> seen = new HashSet<>();

    /** @param overAll whether equal edits of different states count as duplicates */
    CorpusFilter(double minGain, boolean overAll) {
        this.minGain = minGain;
        this.overAll = overAll;
    }

    /**
     * Parent's scores.
     *
     * @param score on the dev questions
     * @param noise absolute difference to a second scoring
     */
    record Parent(String family, String harness, double score, double noise) {}

    /** Why an edit is rejected before its length is known; empty when it is not. */
    Optional<String> judge(Answers.Candidate candidate, Parent parent) {
        String reason = outcome(candidate);
        if (reason == null) {
            reason = edit(candidate, parent);
        }
        return Optional.ofNullable(reason);
    }

    /** Whether an edit is the first of its kind; only those asked here count as seen. */
    boolean first(String diffHash, String family, String harness) {
        return seen.add(overAll ? diffHash : family + " " + harness + " " + diffHash);
    }

    private static @Nullable String outcome(Answers.Candidate candidate) {
        CandidateOutcome outcome = candidate.outcome();
        if (outcome == null) {
            return "no_outcome";
        }
        return switch (outcome) {
            case SCORED -> null;
            case INVALID ->
                "invalid_"
                        + (candidate.code() == null
                                ? ""
                                : candidate.code().name().toLowerCase(Locale.ROOT));
            case INFRA_FAILURE, NOT_FINISHED -> outcome.json();
        };
    }

    private @Nullable String edit(Answers.Candidate candidate, Parent parent) {
        String tier = candidate.tier();
        String diff = candidate.diff();
        Double mean = candidate.mean();
        if (candidate.reply() == null) {
            return "no_reply";
        }
        if (tier == null || !TIERS.contains(tier)) {
            return "loose_match";
        }
        if (diff == null
                || EditDiff.changedLines(diff) == 0
                || EditDiff.hash(diff).isEmpty()) {
            return "no_changed_line";
        }
        if (mean == null || !(mean >= 0 && mean <= 1)) {
            return "no_score";
        }
        if (!(mean - parent.score() > parent.noise() + minGain)) {
            return "no_gain";
        }
        return "stop".equals(candidate.finishReason()) ? null : "cut_off";
    }
}
