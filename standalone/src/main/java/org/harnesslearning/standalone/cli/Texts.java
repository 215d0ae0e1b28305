package org.harnesslearning.standalone.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tools.jackson.databind.JsonNode;

/** How parts of a run read on a terminal. */
final class Texts {
    private static final double COPIED = 0.9;

    private Texts() {}

    /** One candidate in one line. */
    static String candidate(int round, JsonNode candidate) {
        StringBuilder text = new StringBuilder();
        text.append("round ")
                .append(round)
                .append(", candidate ")
                .append(candidate.path("index").asInt(0))
                .append(": ");
        String outcome = candidate.path("outcome").asString("not finished");
        text.append(outcome.replace('_', ' '));
        if (candidate.path("score").isObject()) {
            text.append(" ")
                    .append(two(candidate.path("score").path("mean").asDouble(0)))
                    .append(" on dev");
        }
        if (present(candidate.path("duplicate_of"))) {
            text.append(", a duplicate of ").append(duplicate(candidate.path("duplicate_of")));
        }
        if (present(candidate.path("code"))) {
            text.append(", ").append(candidate.path("code").asString(""));
        }
        if (present(candidate.path("message")) && !outcome.equals("scored")) {
            text.append(": ").append(firstLine(candidate.path("message").asString("")));
        }
        return text.toString();
    }

    /** The held-out table: starting harness, result, demonstrations, gain, noise. */
    static List<String> heldOut(JsonNode result) {
        JsonNode heldOut = result.path("held_out");
        List<String> lines = new ArrayList<>();
        lines.add(String.format(
                Locale.ROOT, "%-30s %7s  %-18s %7s %5s", "Held-out score", "mean", "interval", "strict", "n"));
        score(lines, "starting harness", heldOut.path("seed"));
        score(lines, "result", heldOut.path("result"));
        for (JsonNode demonstration : heldOut.path("demonstrations")) {
            score(lines, "demonstration '" + demonstration.path("name").asString("") + "'", demonstration);
        }
        JsonNode gain = heldOut.path("gain");
        if (gain.isObject()) {
            lines.add(String.format(
                    Locale.ROOT,
                    "  %-28s %+7.2f  %-18s",
                    "gain",
                    gain.path("mean").asDouble(0),
                    interval(gain.path("ci"))));
        }
        JsonNode noise = result.path("noise");
        if (noise.isObject()) {
            lines.add(String.format(
                    Locale.ROOT,
                    "  A/A noise: the starting harness scored %d times differs by %.2f a question on average",
                    noise.path("repeats").asInt(2),
                    noise.path("mean_abs_diff").asDouble(0)));
        }
        return lines;
    }

    private static void score(List<String> lines, String name, JsonNode score) {
        if (!score.isObject()) {
            return;
        }
        lines.add(String.format(
                Locale.ROOT,
                "  %-28s %7.2f  %-18s %7.2f %5d",
                name,
                score.path("mean").asDouble(0),
                interval(score.path("ci")),
                score.path("strict").asDouble(0),
                score.path("n").asInt(0)));
    }

    private static String interval(JsonNode interval) {
        if (!interval.has("low")) {
            return "-";
        }
        return String.format(
                Locale.ROOT,
                "[%.2f, %.2f] %.0f %%",
                interval.path("low").asDouble(0),
                interval.path("high").asDouble(0),
                100 * interval.path("level").asDouble(0.95));
    }

    /** Outcomes by code, with the sum that must hold. */
    static List<String> outcomes(JsonNode counts) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(
                Locale.ROOT,
                "Outcomes: %d attempted = %d scored + %d invalid + %d infrastructure failures; %d duplicates",
                counts.path("attempted").asInt(0),
                counts.path("scored").asInt(0),
                counts.path("invalid").asInt(0),
                counts.path("infra_failure").asInt(0),
                counts.path("duplicates").asInt(0)));
        if (counts.path("not_finished").asInt(0) > 0) {
            lines.add("  not finished, outside the sum: "
                    + counts.path("not_finished").asInt(0));
        }
        counts.path("by_code")
                .properties()
                .forEach(entry -> lines.add(String.format(
                        Locale.ROOT,
                        "  %-22s %4d",
                        entry.getKey(),
                        entry.getValue().asInt(0))));
        return lines;
    }

    /** Calls and tokens by role. */
    static List<String> usage(JsonNode usage) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(
                Locale.ROOT,
                "%-12s %7s %15s %18s %9s",
                "Used",
                "calls",
                "prompt tokens",
                "completion tokens",
                "seconds"));
        for (String role : List.of("proposer", "solver")) {
            JsonNode used = usage.path(role);
            if (used.isObject()) {
                lines.add(String.format(
                        Locale.ROOT,
                        "  %-10s %7d %15d %18d %9.1f",
                        role,
                        used.path("calls").asLong(0),
                        used.path("prompt_tokens").asLong(0),
                        used.path("completion_tokens").asLong(0),
                        used.path("ms").asLong(0) / 1000.0));
            }
        }
        if (usage.path("repeated").asLong(0) > 0) {
            lines.add("  repeated after a restart: " + usage.path("repeated").asLong(0) + " calls");
        }
        return lines;
    }

    /** What the run came to, plainly. */
    static String verdict(JsonNode run) {
        String state = run.path("state").asString("");
        if (!state.equals("succeeded")) {
            return "The run " + state + ": "
                    + run.path("message").asString(run.path("stop_reason").asString("no reason given")) + ".";
        }
        JsonNode result = run.path("result");
        JsonNode gain = result.path("held_out").path("gain");
        String seed = run.path("settings").path("harness").path("hash").asString("");
        if (!seed.isEmpty() && seed.equals(result.path("harness").asString(""))) {
            return "NOT IMPROVED: no candidate beat the starting harness on the dev questions; it is the result.";
        }
        if (!gain.isObject()) {
            return "There is no held-out gain to judge by.";
        }
        double mean = gain.path("mean").asDouble(0);
        if (mean <= 0) {
            return String.format(Locale.ROOT, "NOT IMPROVED: on the held-out questions the result gains %+.2f.", mean);
        }
        if (gain.path("ci").path("low").asDouble(0) <= 0) {
            return String.format(
                    Locale.ROOT,
                    "UNCLEAR: the result gains %+.2f on the held-out questions, but the interval includes 0.",
                    mean);
        }
        return String.format(
                Locale.ROOT,
                "IMPROVED: the result gains %+.2f on the held-out questions, and the interval excludes 0.",
                mean);
    }

    /** What the similarity of an accepted edit to its demonstration says. */
    static String similarity(double similarity) {
        return similarity >= COPIED ? "; that is close to a copy, not a discovery" : "";
    }

    /** A number with two decimals. */
    static String two(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    private static boolean present(JsonNode node) {
        return !node.isMissingNode() && !node.isNull();
    }

    private static String duplicate(JsonNode node) {
        if (node.isObject()) {
            return "round " + node.path("round").asInt(0) + ", candidate "
                    + node.path("candidate").asInt(0);
        }
        return node.asString("");
    }

    private static String firstLine(String text) {
        String line = text.strip().lines().findFirst().orElse("");
        return line.length() > 120 ? line.substring(0, 117) + "..." : line;
    }
}
