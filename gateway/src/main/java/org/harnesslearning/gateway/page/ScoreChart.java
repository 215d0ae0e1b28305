package org.harnesslearning.gateway.page;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The dev scores of a run as a picture: one column a round, a dot with its interval for each candidate, and the score that
 * the run went on with as a stepped line. Coordinates are in pixels of the picture, y downwards.
 *
 * @param line points of the line, as SVG writes them
 */
record ScoreChart(int width, int height, List<Tick> ticks, List<Column> columns, List<Dot> dots, String line) {
    private static final int LEFT = 36;
    private static final int TOP = 12;
    private static final int PLOT_HEIGHT = 150;
    private static final int BOTTOM = 26;
    private static final int MIN_COLUMN = 150;
    private static final int DOT_GAP = 22;

    /** A horizontal line of the scale. */
    record Tick(int y, String label) {}

    /** A round's place. */
    record Column(int x, int from, int columnWidth, String label) {}

    /** A score with its interval, on hover named by title. */
    record Dot(int x, int y, int low, int high, String kind, String title) {}

    /** The chart of a run; null before the first score. */
    static @Nullable ScoreChart of(RunAnswer run) {
        RunAnswer.Score seed = run.baseline() == null ? null : run.baseline().score();
        if (seed == null) {
            return null;
        }
        List<Column> columns = new ArrayList<>();
        List<Dot> dots = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        int x = LEFT;
        int startWidth = MIN_COLUMN;
        columns.add(new Column(x + startWidth / 2, x, startWidth, "start"));
        dots.add(dot(x + startWidth / 2, seed, "seed", "starting harness"));
        line.append(point(x, seed.mean()));
        x += startWidth;
        double current = seed.mean();
        for (RunAnswer.Round round : run.rounds()) {
            int scored = (int) round.candidates().stream()
                    .filter(candidate -> candidate.score() != null)
                    .count();
            int columnWidth = Math.max(MIN_COLUMN, (scored + 1) * DOT_GAP);
            columns.add(new Column(x + columnWidth / 2, x, columnWidth, "round " + round.index()));
            int at = x + (columnWidth - (scored - 1) * DOT_GAP) / 2;
            double before = current;
            line.append(point(x, before));
            for (RunAnswer.Candidate candidate : round.candidates()) {
                RunAnswer.Score score = candidate.score();
                if (score != null) {
                    boolean chosen = round.chose(candidate);
                    dots.add(dot(at, score, chosen ? "chosen" : "scored", "candidate " + candidate.index()));
                    at += DOT_GAP;
                    if (chosen) {
                        current = score.mean();
                    }
                }
            }
            x += columnWidth;
            // What was chosen goes on from the end of its round.
            line.append(point(x, before)).append(point(x, current));
        }
        List<Tick> ticks = new ArrayList<>();
        for (double value : new double[] {0, 0.25, 0.5, 0.75, 1}) {
            ticks.add(new Tick(y(value), String.format(Locale.ROOT, "%.2f", value)));
        }
        return new ScoreChart(
                x + 8,
                TOP + PLOT_HEIGHT + BOTTOM,
                ticks,
                columns,
                dots,
                line.toString().strip());
    }

    private static Dot dot(int x, RunAnswer.Score score, String kind, String name) {
        RunAnswer.Interval ci = score.ci();
        return new Dot(
                x,
                y(score.mean()),
                y(ci == null ? score.mean() : ci.low()),
                y(ci == null ? score.mean() : ci.high()),
                kind,
                String.format(Locale.ROOT, "%s: %.2f", name, score.mean()));
    }

    private static String point(int x, double value) {
        return x + "," + y(value) + " ";
    }

    private static int y(double value) {
        return TOP + (int) Math.round(PLOT_HEIGHT * (1 - value));
    }
}
