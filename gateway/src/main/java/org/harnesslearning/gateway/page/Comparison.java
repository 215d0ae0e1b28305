package org.harnesslearning.gateway.page;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Two runs side by side.
 *
 * @param warnings why their figures may not be compared as equal
 */
record Comparison(RunAnswer left, RunAnswer right, List<Line> settings, List<Line> figures, List<String> warnings) {
    /** One property of both; {@code differs} where they are not equal. */
    record Line(String name, String left, String right, boolean differs) {}

    static Comparison of(RunAnswer left, RunAnswer right) {
        List<Line> settings = new ArrayList<>();
        add(settings, "Task", left, right, run -> run.settings().task().name());
        add(settings, "Task seed", left, right, run -> {
            RunAnswer.Family family = run.settings().task().reasoningGym();
            return family == null ? "–" : Long.toString(family.seed());
        });
        add(settings, "Proposer", left, right, run -> model(run.settings().proposer()));
        add(
                settings,
                "Demonstrations",
                left,
                right,
                run -> run.settings().proposer() == null
                        ? "–"
                        : String.valueOf(run.settings().proposer().demonstrations()));
        add(
                settings,
                "Reply form",
                left,
                right,
                run -> run.settings().proposer() == null
                        ? "–"
                        : String.valueOf(run.settings().proposer().replyForm()).replace('_', ' '));
        add(settings, "Solver", left, right, run -> model(run.settings().solver()));
        add(
                settings,
                "Candidates × rounds",
                left,
                right,
                run -> run.settings().candidates() + " × " + run.settings().rounds());
        add(
                settings,
                "Selection",
                left,
                right,
                run -> String.valueOf(run.settings().selection()).replace('_', ' '));
        add(settings, "Seed", left, right, run -> Long.toString(run.settings().seed()));
        add(settings, "Replies", left, right, run -> run.recorded() ? "recorded" : "live");
        Show show = new Show(left.createdAt());
        List<Line> figures = new ArrayList<>();
        add(figures, "State", left, right, RunAnswer::state);
        add(
                figures,
                "Dev: starting harness",
                left,
                right,
                run -> run.baseline() == null ? "–" : mean(run.baseline().score()));
        add(figures, "Dev: chosen harness", left, right, run -> show.score(run.bestDev()));
        add(figures, "Held out: starting harness", left, right, run -> heldOut(run, RunAnswer.HeldOut::seed));
        add(figures, "Held out: chosen harness", left, right, run -> heldOut(run, RunAnswer.HeldOut::result));
        add(figures, "Held-out gain", left, right, run -> {
            RunAnswer.Gain gain = run.heldOutGain();
            return gain == null ? "–" : show.gain(gain.mean()) + " (" + show.gainInterval(gain.ci()) + ")";
        });
        add(
                figures,
                "A/A noise",
                left,
                right,
                run -> run.result() == null || run.result().noise() == null
                        ? "–"
                        : show.score(run.result().noise().meanAbsDiff()));
        add(
                figures,
                "Scored · invalid · infrastructure",
                left,
                right,
                run -> run.counts() == null
                        ? "–"
                        : run.counts().scored() + " · " + run.counts().invalid() + " · "
                                + run.counts().infraFailure());
        add(
                figures,
                "Solver calls",
                left,
                right,
                run -> run.usage() == null || run.usage().solver() == null
                        ? "–"
                        : show.count(run.usage().solver().calls()));
        add(
                figures,
                "Tokens",
                left,
                right,
                run -> run.usage() == null ? "–" : show.count(run.usage().tokens()));
        add(
                figures,
                "Cost",
                left,
                right,
                run -> run.usage() == null ? "–" : show.cost(run.usage().cost()));
        return new Comparison(left, right, settings, figures, warnings(settings));
    }

    private static List<String> warnings(List<Line> settings) {
        Set<String> telling = Set.of("Task", "Task seed", "Solver", "Demonstrations", "Reply form", "Replies");
        Set<String> found = new TreeSet<>();
        for (Line line : settings) {
            if (line.differs() && telling.contains(line.name())) {
                found.add(line.name().toLowerCase(Locale.ROOT));
            }
        }
        return List.copyOf(found);
    }

    private static void add(
            List<Line> lines, String name, RunAnswer left, RunAnswer right, Function<RunAnswer, String> value) {
        String first = value.apply(left);
        String second = value.apply(right);
        lines.add(new Line(name, first, second, !Objects.equals(first, second)));
    }

    private static String model(RunAnswer.@Nullable Model model) {
        return model == null
                ? "–"
                : model.model() + (model.temperature() == null ? "" : " at temperature " + model.temperature());
    }

    private static String heldOut(RunAnswer run, Function<RunAnswer.HeldOut, RunAnswer.@Nullable Score> part) {
        return run.result() == null || run.result().heldOut() == null
                ? "–"
                : mean(part.apply(run.result().heldOut()));
    }

    private static String mean(RunAnswer.@Nullable Score score) {
        return score == null ? "–" : String.format(Locale.ROOT, "%.2f (n %d)", score.mean(), score.n());
    }
}
