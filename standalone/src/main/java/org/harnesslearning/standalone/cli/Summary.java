package org.harnesslearning.standalone.cli;

import java.io.PrintStream;
import java.util.Locale;
import tools.jackson.databind.JsonNode;

/** The end of an adaptation on a terminal. */
final class Summary {
    private Summary() {}

    static void print(Api api, JsonNode run, PrintStream out) {
        out.println();
        out.println("Adaptation " + run.path("id").asString("") + ": "
                + run.path("state").asString("") + " ("
                + run.path("stop_reason").asString("no reason given") + ")");
        if (run.path("recorded").asBoolean(false)) {
            out.println("Replies were RECORDED, not sampled: these figures say nothing about a model.");
        }
        out.println();
        if (run.path("result").path("held_out").isObject()) {
            Texts.heldOut(run.path("result")).forEach(out::println);
            out.println();
        }
        accepted(api, run, out);
        if (run.path("counts").isObject()) {
            Texts.outcomes(run.path("counts")).forEach(out::println);
            out.println();
        }
        Texts.usage(run.path("usage")).forEach(out::println);
        out.println();
        CiOptions.verdict(run).forEach(out::println);
        out.println(Texts.verdict(run));
    }

    /** The diff of each round's chosen candidate, where it is not the incumbent. */
    private static void accepted(Api api, JsonNode run, PrintStream out) {
        boolean any = false;
        for (JsonNode round : run.path("rounds")) {
            String chosen = round.path("chosen").asString("");
            if (chosen.isEmpty() || chosen.equals(round.path("parent").asString(""))) {
                continue;
            }
            for (JsonNode candidate : round.path("candidates")) {
                if (!chosen.equals(candidate.path("harness").asString(""))) {
                    continue;
                }
                any = true;
                JsonNode detail = api.get(run.path("links")
                                .path("self")
                                .asString("/adaptations/" + run.path("id").asString(""))
                        + "/rounds/" + round.path("index").asInt(0) + "/candidates/"
                        + candidate.path("index").asInt(0));
                StringBuilder title = new StringBuilder("Accepted edit of ");
                title.append(Texts.candidate(round.path("index").asInt(0), candidate));
                if (!candidate.path("tier").asString("").isEmpty()) {
                    title.append(", tier ").append(candidate.path("tier").asString(""));
                }
                String demonstration = candidate.path("demonstration").asString("");
                if (!demonstration.isEmpty()) {
                    title.append("\n  written after demonstration '")
                            .append(demonstration)
                            .append("'");
                    if (detail.path("similarity").isNumber()) {
                        double similarity = detail.path("similarity").asDouble(0);
                        title.append(String.format(Locale.ROOT, ", similarity %.2f", similarity))
                                .append(Texts.similarity(similarity));
                    }
                }
                out.println(title);
                detail.path("diff").asString("").lines().forEach(line -> out.println("    " + line));
                out.println();
                break;
            }
        }
        if (!any) {
            out.println("No edit was accepted.");
            out.println();
        }
    }
}
