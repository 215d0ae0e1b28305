package org.harnesslearning.standalone.cli;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;

/** {@code harness eval}: one harness scored on one split, beside another one where wanted. */
final class EvalCommand {
    static final String HELP = """
            Usage: ./harness eval --task FILE.jsonl|FAMILY [options]

            Scores a harness on one split; no proposer is asked.

              --split NAME          dev (default), feedback or held_out
              --baseline HARNESS    also score this one on the same questions: a file, or the hash of a stored harness
              --gate NAME=VALUE,…   exit code 1 unless it passes: min_score, min_gain (over the baseline), confidence, max_cost
              --repeat N            another number scores the same questions anew instead of taking stored scores (0)
              --json                print the finished resource instead of a summary
            """ + CiOptions.HELP + RunRequest.EVALUATION_HELP + """

            Exit codes: 0 finished (and the gate passed); 1 the gate failed; 2 wrong options or request; 3 the evaluation failed,
            or the platform can't be reached or refuses the key.
            """;

    private EvalCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        Set<String> named = new HashSet<>(RunRequest.EVALUATION_OPTIONS);
        named.addAll(Surroundings.OPTIONS);
        named.addAll(CiOptions.OPTIONS);
        named.addAll(Set.of("split", "baseline", "repeat"));
        Set<String> flags = new HashSet<>(RunRequest.FLAGS);
        flags.addAll(CiOptions.FLAGS);
        flags.add("json");
        Arguments arguments = Arguments.parse(given, named, flags);
        Map<String, Object> ci = new LinkedHashMap<>();
        Map<String, Object> gate = CiOptions.gate(arguments, Set.of("min_score", "min_gain", "confidence", "max_cost"));
        CiOptions.put(arguments, ci);
        try (Api api = surroundings.connect(arguments)) {
            Map<String, Object> body = new LinkedHashMap<>(RunRequest.evaluation(arguments, api));
            body.putAll(ci);
            if (!gate.isEmpty()) {
                body.put("gate", gate);
            }
            arguments.text("split").ifPresent(split -> body.put("split", split));
            arguments.integer("repeat", 0).ifPresent(repeat -> body.put("repeat", repeat));
            arguments.text("baseline").ifPresent(baseline -> body.put("baseline", baseline(baseline)));
            boolean json = arguments.flag("json");
            JsonNode run = api.post("/evaluations", body, 0);
            String path = "/evaluations/" + run.path("id").asString("");
            if (arguments.flag("no-wait")) {
                surroundings
                        .out()
                        .println(json ? Json.write(run) : run.path("id").asString(""));
                return ExitCode.DONE;
            }
            PrintStream out = json ? new PrintStream(OutputStream.nullOutputStream()) : surroundings.out();
            out.println("Started " + api.base() + path);
            run = AdaptCommand.follow(
                    api,
                    path,
                    0,
                    false,
                    CiOptions.timeout(arguments),
                    new Surroundings(
                            out,
                            !json && surroundings.terminal(),
                            surroundings.environment(),
                            surroundings.nanoTime()));
            CiOptions.write(arguments, api, path);
            if (json) {
                surroundings.out().println(Json.write(run));
            } else {
                summary(run, out);
            }
            return CiOptions.exitCode(run);
        }
    }

    private static Map<String, String> baseline(String given) {
        if (given.startsWith("sha256:")) {
            return Map.of("hash", given);
        }
        Path file = Path.of(given);
        if (!Files.exists(file)) {
            throw CommandException.usage("--baseline names neither a file nor a hash: " + given);
        }
        return Map.of("source", RunRequest.text(file));
    }

    private static void summary(JsonNode run, PrintStream out) {
        out.println();
        out.println("Evaluation " + run.path("id").asString("") + ": "
                + run.path("state").asString("") + " ("
                + run.path("stop_reason").asString("no reason given") + ")");
        score(out, "harness", run.path("score"));
        score(out, "baseline", run.path("result").path("baseline").path("score"));
        JsonNode gain = run.path("result").path("gain");
        if (gain.isObject()) {
            out.println(String.format(
                    Locale.ROOT,
                    "  %-10s %+.3f [%+.3f, %+.3f]",
                    "gain",
                    gain.path("mean").asDouble(0),
                    gain.path("ci").path("low").asDouble(0),
                    gain.path("ci").path("high").asDouble(0)));
        }
        run.path("by_code")
                .properties()
                .forEach(entry -> out.println(String.format(
                        Locale.ROOT,
                        "  %-22s %4d",
                        entry.getKey(),
                        entry.getValue().asInt(0))));
        Texts.usage(run.path("usage")).forEach(out::println);
        if (run.path("recorded").asBoolean(false)) {
            out.println("Replies were RECORDED, not sampled: these figures say nothing about a model.");
        }
        CiOptions.verdict(run).forEach(out::println);
    }

    private static void score(PrintStream out, String name, JsonNode score) {
        if (score.isObject()) {
            out.println(String.format(
                    Locale.ROOT,
                    "  %-10s %.3f [%.3f, %.3f], n %d, %.3f right in full",
                    name,
                    score.path("mean").asDouble(0),
                    score.path("ci").path("low").asDouble(0),
                    score.path("ci").path("high").asDouble(0),
                    score.path("n").asInt(0),
                    score.path("strict").asDouble(0)));
        }
    }
}
