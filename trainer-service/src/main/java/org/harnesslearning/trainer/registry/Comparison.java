package org.harnesslearning.trainer.registry;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.CandidateScore;
import org.harnesslearning.tasks.statistics.Gain;
import org.harnesslearning.tasks.statistics.Gate;

/**
 * A candidate version and the serving one on the same questions. What counts of a version on a question is the mean over
 * its replies to the one prompt: the edited harness's score on that question, 0 for an invalid edit. Replies that failed
 * for infrastructure are left out.
 */
final class Comparison {
    private Comparison() {}

    /**
     * One version on one set of questions.
     *
     * @param scores by question
     * @param replies that count
     * @param valid of these
     */
    record Side(List<Double> scores, int replies, int valid) {
        Side {
            scores = List.copyOf(scores);
        }

        double mean() {
            return scores.stream().mapToDouble(Double::doubleValue).average().orElse(0);
        }
    }

    /** Both versions on one set of questions of a family. */
    record Pair(String family, long seed, Side candidate, Side serving) {}

    /** Figures of one version over everything. */
    record Total(double mean, double validRate, int replies) {}

    /** Both versions on one family. */
    record ByFamily(String family, int questions, double candidate, double serving, double gain) {}

    /**
     * What a promotion decides on.
     *
     * @param gain candidate minus serving, paired by question
     */
    record Decision(
            Gate verdict,
            Gain gain,
            double minGain,
            int questions,
            Total candidate,
            Total serving,
            List<ByFamily> families,
            boolean recorded) {
        Decision {
            families = List.copyOf(families);
        }

        /** The figures in one sentence. */
        String sentence() {
            return ("the gain on %d questions of %d withheld families is %.4f (%.0f %% interval %.4f to %.4f): %.4f against"
                            + " %.4f; needed are a mean of at least %.4f and a lower bound above 0")
                    .formatted(
                            questions,
                            families.size(),
                            gain.mean(),
                            gain.ci().level() * 100,
                            gain.ci().low(),
                            gain.ci().high(),
                            candidate.mean(),
                            serving.mean(),
                            minGain);
        }
    }

    /**
     * A version's part of one revision.
     *
     * @param questions number of dev questions
     * @throws IllegalStateException when no reply counts
     */
    static Side side(List<CandidateRow> candidates, int questions) {
        double[] sums = new double[questions];
        int replies = 0;
        int valid = 0;
        for (CandidateRow candidate : candidates) {
            CandidateOutcome outcome = candidate.outcome();
            if (outcome == CandidateOutcome.INVALID) {
                replies++;
            } else if (outcome == CandidateOutcome.SCORED) {
                CandidateScore score = Objects.requireNonNull(candidate.score());
                if (score.scores().size() != questions) {
                    throw new IllegalStateException(
                            "a candidate has " + score.scores().size() + " scores of " + questions + " questions");
                }
                replies++;
                valid++;
                for (int i = 0; i < questions; i++) {
                    sums[i] += score.scores().get(i);
                }
            }
        }
        if (replies == 0) {
            throw new IllegalStateException("no reply has an outcome that counts");
        }
        List<Double> scores = new ArrayList<>();
        for (double sum : sums) {
            scores.add(sum / replies);
        }
        return new Side(scores, replies, valid);
    }

    /**
     * The decision.
     *
     * @param recorded whether a model's replies came from a file: such a comparison never passes
     */
    static Decision decide(List<Pair> pairs, PromotionSettings settings, boolean recorded) {
        List<Double> before = new ArrayList<>();
        List<Double> after = new ArrayList<>();
        List<ByFamily> families = new ArrayList<>();
        for (String family : pairs.stream().map(Pair::family).distinct().toList()) {
            List<Double> own = new ArrayList<>();
            List<Double> other = new ArrayList<>();
            pairs.stream().filter(pair -> pair.family().equals(family)).forEach(pair -> {
                own.addAll(pair.candidate().scores());
                other.addAll(pair.serving().scores());
            });
            families.add(new ByFamily(family, own.size(), mean(own), mean(other), mean(own) - mean(other)));
            after.addAll(own);
            before.addAll(other);
        }
        Gain gain = Gain.paired(before, after, settings.confidence(), settings.seed());
        return new Decision(
                Gate.judge(gain, settings.minGain(), recorded, false),
                gain,
                settings.minGain(),
                after.size(),
                total(after, pairs.stream().map(Pair::candidate).toList()),
                total(before, pairs.stream().map(Pair::serving).toList()),
                families,
                recorded);
    }

    private static Total total(List<Double> scores, List<Side> sides) {
        int replies = sides.stream().mapToInt(Side::replies).sum();
        int valid = sides.stream().mapToInt(Side::valid).sum();
        return new Total(mean(scores), (double) valid / replies, replies);
    }

    private static double mean(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).average().orElse(0);
    }
}
