package org.harnesslearning.proposer.gate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunCost;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.harnesslearning.tasks.statistics.Gain;
import org.harnesslearning.tasks.statistics.Gate;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/** Judges a result by the run's gate and its regression set. */
@Component
public class GateCheck {
    private final RunCost cost;
    private final ProposerProperties properties;

    GateCheck(RunCost cost, ProposerProperties properties) {
        this.cost = cost;
        this.properties = properties;
    }

    /** The starting harness and the result on one split; a result that was not measured is empty. */
    public record Pair(Split split, List<MeasuredQuestion> before, List<MeasuredQuestion> after) {
        public Pair {
            before = List.copyOf(before);
            after = List.copyOf(after);
        }
    }

    /**
     * Judges.
     *
     * @param gain null where it was not measured
     * @param score mean of an evaluated harness; null for adaptations and where it was not measured
     */
    public Verdict judge(RunContext run, List<Pair> pairs, @Nullable Gain gain, @Nullable Double score) {
        RunSettings settings = run.settings();
        List<String> anchors = settings.regression() == null ? List.of() : settings.regression();
        List<Flip> flips = new ArrayList<>();
        Set<String> measured = new HashSet<>();
        pairs.forEach(pair -> compare(run, pair, anchors, flips, measured));
        Verdict.Regression regression = anchors.isEmpty()
                ? null
                : new Verdict.Regression(
                        anchors.size(),
                        (int) flips.stream().filter(Flip::regression).count(),
                        (int) anchors.stream()
                                .filter(item -> !measured.contains(item))
                                .count());
        RunSettings.Gate gate = settings.gate();
        if (gate == null) {
            return new Verdict(Gate.NONE, List.of(), flips, regression);
        }
        List<String> reasons = new ArrayList<>();
        judgeScores(gate, gain, score, reasons);
        judgeCost(run, gate, reasons);
        if (regression != null && regression.flipped() > 0) {
            reasons.add(regression.flipped() + " of " + regression.items()
                    + " items of the regression set went from right to wrong");
        }
        if (regression != null && regression.unmeasured() > 0) {
            reasons.add(regression.unmeasured() + " of " + regression.items()
                    + " items of the regression set were not measured");
        }
        if (run.recorded()) {
            reasons.add("replies came from a file (recorded: true), which passes no gate");
        }
        return new Verdict(Gate.of(reasons), reasons, flips, regression);
    }

    private static void judgeScores(
            RunSettings.Gate gate, @Nullable Gain gain, @Nullable Double score, List<String> reasons) {
        Double minGain = gate.minGain();
        if (minGain != null && gain == null) {
            reasons.add("the gain was not measured");
        } else if (minGain != null && gain != null && !Gate.enough(gain, minGain)) {
            if (gain.mean() < minGain) {
                reasons.add(String.format(Locale.ROOT, "the gain %+.4f is below min_gain %.4f", gain.mean(), minGain));
            }
            if (gain.ci().low() <= 0) {
                reasons.add(String.format(
                        Locale.ROOT,
                        "the lower bound %+.4f of the gain's %.1f %% interval is not above 0",
                        gain.ci().low(),
                        100 * gain.ci().level()));
            }
        }
        Double minScore = gate.minScore();
        if (minScore != null && score == null) {
            reasons.add("the score was not measured");
        } else if (minScore != null && score != null && score < minScore) {
            reasons.add(String.format(Locale.ROOT, "the score %.4f is below min_score %.4f", score, minScore));
        }
    }

    private void judgeCost(RunContext run, RunSettings.Gate gate, List<String> reasons) {
        Double most = gate.maxCost();
        if (most == null) {
            return;
        }
        Double spent = cost.of(run.id(), run.settings(), properties);
        if (spent == null) {
            reasons.add("the cost is not known: a model of the run has no price any more");
        } else if (spent > most) {
            reasons.add(String.format(Locale.ROOT, "the run cost %.6g, more than max_cost %.6g", spent, most));
        }
    }

    private static void compare(
            RunContext run, Pair pair, List<String> anchors, List<Flip> flips, Set<String> measured) {
        Map<String, MeasuredQuestion> after = new HashMap<>();
        pair.after().forEach(result -> after.put(result.itemHash(), result));
        Map<String, Item> items = new HashMap<>();
        run.items(pair.split()).forEach(item -> items.put(item.hash(), item));
        for (MeasuredQuestion before : pair.before()) {
            MeasuredQuestion now = after.get(before.itemHash());
            if (now == null) {
                continue;
            }
            measured.add(before.itemHash());
            if (before.strict() && !now.strict()) {
                Item item = items.get(before.itemHash());
                Item.Mark mark = item == null || pair.split() == Split.HELD_OUT ? null : item.mark();
                flips.add(new Flip(
                        before.itemHash(),
                        pair.split(),
                        mark == null ? null : mark.id(),
                        anchors.contains(before.itemHash()),
                        before.score(),
                        now.score()));
            }
        }
    }
}
